"""What a file is compressed with, by its first bytes and never by its name.

Only recognition lives here: `compression` unpacks, and is imported only when there is something to unpack.
"""

from typing import Final

COMPRESSIONS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
)
SKIPPABLE_MIN: Final = 0x184D2A50
SKIPPABLE_MAX: Final = 0x184D2A5F
"""Magic numbers of the skippable frames that zstd (RFC 8878 section 3.1.2) and lz4 share."""


def compression_of(head: bytes) -> str | None:
    """The name of the compression that ``head`` starts with, None for none. ``skippable`` may be zstd or lz4."""
    for magic, name in COMPRESSIONS:
        if head.startswith(magic):
            if name == "bzip2" and not head[3:4].isdigit():
                continue
            return name
    if len(head) >= 4 and SKIPPABLE_MIN <= int.from_bytes(head[:4], "little") <= SKIPPABLE_MAX:
        return "skippable"
    return None
