"""The numbers that the layers below TCP hand to each other: EtherTypes, IP protocols, and why a packet was given up.

A layer names what lies inside it by an EtherType, or by one of the private numbers above 0xFFFF here when there is no
EtherType for it; a negative one says that the walk ends. Nothing here reads bytes.
"""

from typing import Final

# EtherTypes (IANA "IEEE 802 Numbers").
ETHERTYPE_IPV4: Final = 0x0800
ETHERTYPE_TRANSPARENT_BRIDGING: Final = 0x6558
ETHERTYPE_VLAN: Final = 0x8100
ETHERTYPE_IPV6: Final = 0x86DD
ETHERTYPE_PPP: Final = 0x880B
ETHERTYPE_WCCP: Final = 0x883E
ETHERTYPE_MPLS: Final = 0x8847
ETHERTYPE_MPLS_UPSTREAM: Final = 0x8848
ETHERTYPE_PPPOE_SESSION: Final = 0x8864
ETHERTYPE_QINQ: Final = 0x88A8
ETHERTYPE_ERSPAN: Final = 0x88BE
ETHERTYPE_ERSPAN_III: Final = 0x22EB
ETHERTYPE_NSH: Final = 0x894F
ETHERTYPE_QINQ_OLD: Final = 0x9100
ETHERTYPE_QINQ_OLDER: Final = 0x9200
ETHERTYPE_MIN: Final = 0x0600
"""Smaller values in an EtherType's place are the length of an IEEE 802.3 frame."""

# What has no EtherType.
ETHERNET: Final = 0x1_0000
LLC: Final = 0x1_0001
PPP: Final = 0x1_0002
PPPOE: Final = 0x1_0003
IP_ANY: Final = 0x1_0004
"""IPv4 or IPv6, told by the first four bits."""

# Protocol numbers of IP (IANA "Protocol Numbers").
IPPROTO_HOPOPTS: Final = 0
IPPROTO_ICMP: Final = 1
IPPROTO_IPV4: Final = 4
IPPROTO_TCP: Final = 6
IPPROTO_UDP: Final = 17
IPPROTO_IPV6: Final = 41
IPPROTO_ROUTING: Final = 43
IPPROTO_FRAGMENT: Final = 44
IPPROTO_GRE: Final = 47
IPPROTO_AH: Final = 51
IPPROTO_ICMPV6: Final = 58
IPPROTO_DSTOPTS: Final = 60
IPPROTO_ETHERIP: Final = 97
IPPROTO_MOBILITY: Final = 135
IPPROTO_MPLS: Final = 137
IPPROTO_HIP: Final = 139
IPPROTO_SHIM6: Final = 140
IPPROTO_ETHERNET: Final = 143

# Why a walk ends before an IP header: not TCP, a link type that nothing here reads, or malformed for what REASONS says.
NOT_TCP: Final = -1
LINK_CUT: Final = -2
BAD_VLAN: Final = -3
MPLS_CUT: Final = -4
PPPOE_CUT: Final = -5
PPP_CUT: Final = -6
LLC_CUT: Final = -7
ETHERNET_CUT: Final = -8
TUNNEL_CUT: Final = -9
NFLOG_BAD: Final = -10
WIRELESS_CUT: Final = -11
BAD_IP_VERSION: Final = -12
UNKNOWN_LINKTYPE: Final = -13

REASONS: Final[dict[int, str]] = {
    LINK_CUT: "link header cut",
    BAD_VLAN: "bad vlan",
    MPLS_CUT: "mpls label cut",
    PPPOE_CUT: "pppoe header cut",
    PPP_CUT: "ppp header cut",
    LLC_CUT: "llc header cut",
    ETHERNET_CUT: "ethernet header cut",
    TUNNEL_CUT: "tunnel header cut",
    NFLOG_BAD: "bad nflog attribute",
    WIRELESS_CUT: "802.11 header cut",
    BAD_IP_VERSION: "ip version",
}
"""The reason a malformed packet is counted under, by the negative number that a layer returned."""
