"""IP and MAC addresses under other names: prefix-preserving, and what kind of address it is stays to be seen.

After Crypto-PAn (Fan, Xu, Ammar, Moon, 2004): bit n is flipped or not by a keyed function of the n bits before it, so
two addresses share as many leading bits as the originals do. Loopback, private, link-local and multicast blocks keep
their own leading bits: no bit on the way to one of them is ever flipped.
"""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from pcapstall.anonymise.secret import Secret

KEPT_V4: Final = ("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
                  "192.168.0.0/16", "224.0.0.0/4", "240.0.0.0/4")  # fmt: skip
KEPT_V6: Final = ("::/8", "::ffff:0:0/96", "64:ff9b::/96", "2000::/3", "fc00::/7", "fe80::/64", "ff00::/16",
                  "ff01::/16", "ff02::/16", "ff05::/16", "ff08::/16", "ff0e::/16")  # fmt: skip
"""Blocks that an address does not leave (IANA's special-purpose registries; RFC 4291 for scopes of multicast)."""

_ALONE: Final = frozenset(
    (bytes(4), b"\x7f\0\0\1", b"\xff\xff\xff\xff", bytes(16), bytes(15) + b"\1", bytes(10) + b"\xff\xff\x7f\0\0\1")
)
"""Addresses that name nobody: unspecified, loopback, broadcast."""
V4_IN_V6: Final = (bytes(10) + b"\xff\xff", bytes.fromhex("0064ff9b") + bytes(8))
"""What stands before an IPv4 address in an IPv6 one (RFC 4291 section 2.5.5.2, RFC 6052 section 2.1)."""
_SHORTEST_NUMBER: Final = 1 << 24
"""Smaller ones are too common to be taken for addresses."""
_CACHE_MAX: Final = 1 << 17


class Addresses:
    """Maps addresses of both families and of Ethernet."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._known: dict[bytes, bytes] = {}
        self.numbers: dict[int, int] = {}
        """IPv4 addresses that were met, as numbers in both orders of their bytes, and what those became."""
        self._still = {4: _ways_to(KEPT_V4), 16: _ways_to(KEPT_V6)}

    def ip(self, packed: bytes) -> bytes:
        """The other name of an address of 4 or 16 bytes."""
        found = self._known.get(packed)
        if found is None:
            if len(self._known) >= _CACHE_MAX:
                self._known.clear()
                self.numbers.clear()
            found = self._known[packed] = self._ip(packed)
            if len(packed) == 4 and found != packed:
                for before, after in ((packed, found), (packed[::-1], found[::-1])):
                    value = int.from_bytes(before, "big")
                    if value >= _SHORTEST_NUMBER:
                        self.numbers[value] = int.from_bytes(after, "big")
        return found

    def _ip(self, packed: bytes) -> bytes:
        if packed in _ALONE:
            return packed
        if packed[:12] in V4_IN_V6:
            return packed[:12] + self.ip(packed[12:])
        size, value = len(packed), int.from_bytes(packed, "big")
        other = self._bits(size, 0, 0, value, 8 * size).to_bytes(size, "big")
        while other in _ALONE:  # on from there, lest two addresses become one
            other = self._bits(size, 0, 0, int.from_bytes(other, "big"), 8 * size).to_bytes(size, "big")
        return other

    def within(self, packed: bytes, ranges: Sequence[range]) -> bytes:
        """The other name of an address of whose parts each keeps within its range, where `ip` does not leave them.

        There are as many ``ranges`` as parts, all of as many bits. A part whose other name is out of its range is
        mapped again, until it is not (Black and Rogaway, 2002: cycle walking), so two addresses never become one, and
        addresses that begin with the same parts do so afterwards.
        """
        if packed in _ALONE:
            return packed
        other = self._parts(packed, ranges)
        while other in _ALONE:
            other = self._parts(other, ranges)
        return other

    def _parts(self, packed: bytes, ranges: Sequence[range]) -> bytes:
        width = 8 * len(packed) // len(ranges)
        value, made = int.from_bytes(packed, "big"), 0
        for number, within in enumerate(ranges):
            rest = 8 * len(packed) - number * width
            before, part = value >> rest, value >> (rest - width) & ((1 << width) - 1)
            other = self._bits(len(packed), number * width, before, part, width)
            while other not in within:
                other = self._bits(len(packed), number * width, before, other, width)
            made = made << width | other
        return made.to_bytes(len(packed), "big")

    def _bits(self, size: int, at: int, before: int, value: int, width: int) -> int:
        """The other name of ``width`` bits, of an address of ``size`` bytes, that follow ``at`` bits, ``before``."""
        use, still = "ipv4" if size == 4 else "ipv6", self._still[size]
        flipped = 0
        for n in range(width):
            prefix = before << n | value >> (width - n)
            flip = 0
            if (at + n, prefix) not in still:
                flip = self._secret.number(use, (at + n).to_bytes(1, "big") + prefix.to_bytes(16, "big"), 1)
            flipped = flipped << 1 | flip
        return value ^ flipped

    def mac(self, address: bytes) -> bytes:
        """The other name of a MAC address; its group bit and whether it is a local one stay."""
        if address in (bytes(6), b"\xff" * 6):
            return address
        other = self._secret.number("mac", address, 48).to_bytes(6, "big")
        return bytes((other[0] & 0xFC | address[0] & 3,)) + other[1:]


def _ways_to(blocks: tuple[str, ...]) -> frozenset[tuple[int, int]]:
    """Every proper prefix of ``blocks`` as its length and its value."""
    found = set()
    for text in blocks:
        block: IPv4Network | IPv6Network = ip_network(text)
        value = int(block.network_address)
        found |= {(n, value >> (block.max_prefixlen - n)) for n in range(block.prefixlen)}
    return frozenset(found)
