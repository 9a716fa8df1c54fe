"""From paths to a report: captures are read, flows followed, measured and judged, and the findings put together.

`analyse` is the way in, for the command line and for programs. Sub-packages below it read and follow, those above it do
what single commands need besides (docs/decisions/0002-ladder.md). Nothing is drawn here and nothing is printed.
"""

from pcapstall.pipeline.analysis import Analysis, analyse
from pcapstall.pipeline.options import Options

__all__ = ["Analysis", "Options", "analyse"]
