"""Ports on which a server is expected to speak TLS from the first byte, so that silence there is a client's.

Names are those of the IANA registry of services; other ports are named by the user, or seen to speak TLS.
"""

from typing import Final

TLS_PORTS: Final = frozenset(
    {
        443: "https",
        448: "ddm-ssl",
        465: "submissions",
        563: "nntps",
        614: "sshell",
        636: "ldaps",
        695: "ieee-mms-ssl",
        832: "netconfsoaphttp",
        853: "domain-s",
        989: "ftps-data",
        990: "ftps",
        992: "telnets",
        993: "imaps",
        995: "pop3s",
        2252: "njenet-ssl",
        3269: "msft-gc-ssl",
        5061: "sips",
        5349: "stuns",
        5671: "amqps",
        6251: "tl1-ssl",
        6443: "sun-sr-https",
        6514: "syslog-tls",
        6619: "odette-ftps",
        6697: "ircs-u",
        8443: "pcsync-https",
        8883: "secure-mqtt",
        9443: "tungsten-https",
    }
)
"""A frozen set of the ports; the names say why each is there."""
