"""Builders of packets, of TLS and of pcapng blocks are used here, too, `hostile`, and lines of logs with any stamp."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "wire"))
sys.path.insert(0, str(Path(__file__).parent.parent / "capture"))
sys.path.insert(0, str(Path(__file__).parent.parent / "logs"))
