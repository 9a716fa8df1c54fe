"""IP and MAC addresses under other names: prefix-preserving, and what kind of address it is stays to be seen.

After Crypto-PAn (Fan, Xu, Ammar, Moon, 2004): bit n is flipped or not by a keyed function of the n bits before it, so
two addresses share as many leading bits as the originals do. Loopback, private, link-local and multicast blocks keep
their own leading bits: no bit on the way to one of them is ever flipped.
"""

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
_V4_IN_V6: Final = (bytes(10) + b"\xff\xff", bytes.fromhex("0064ff9b") + bytes(8))
"""What stands before an IPv4 address in an IPv6 one (RFC 4291 section 2.5.5.2, RFC 6052 section 2.1)."""
_CACHE_MAX: Final = 1 << 17


class Addresses:
    """Maps addresses of both families and of Ethernet."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._known: dict[bytes, bytes] = {}
        self._still = {4: _ways_to(KEPT_V4), 16: _ways_to(KEPT_V6)}

    def ip(self, packed: bytes) -> bytes:
        """The other name of an address of 4 or 16 bytes."""
        found = self._known.get(packed)
        if found is None:
            if len(self._known) >= _CACHE_MAX:
                self._known.clear()
            found = self._known[packed] = self._ip(packed)
        return found

    def _ip(self, packed: bytes) -> bytes:
        if packed in _ALONE:
            return packed
        if packed[:12] in _V4_IN_V6:
            return packed[:12] + self.ip(packed[12:])
        bits = 8 * len(packed)
        use = f"ipv{'4' if bits == 32 else '6'}"
        still = self._still[len(packed)]
        value = int.from_bytes(packed, "big")
        flipped = 0
        for n in range(bits):
            prefix = value >> (bits - n)
            flip = (
                0
                if (n, prefix) in still
                else self._secret.number(use, n.to_bytes(1, "big") + prefix.to_bytes(16, "big"), 1)
            )
            flipped = flipped << 1 | flip
        other = (value ^ flipped).to_bytes(len(packed), "big")
        return packed if other in _ALONE else other

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
