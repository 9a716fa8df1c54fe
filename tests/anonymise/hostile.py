"""A capture that says something of somebody in every place that holds text or addresses, each time something else."""

import base64
import struct
from collections.abc import Iterator

from capture_support import block, epb, idb, option, pad, shb
from packet_support import checksum, ethernet, ipv4, udp
from tls_support import client_hello, extension, message, record, server_hello

HANDSHAKE, ALERT, DATA = 22, 21, 23
STARTED_US = 1_796_023_440_000_000


class Marks:
    """Words and addresses that are nowhere else, and where each was put."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self.addresses: dict[bytes, str] = {}

    def word(self, place: str) -> bytes:
        """A word of ten letters."""
        number, letters = 7919 * (len(self.words) + 17), "zq"
        while len(letters) < 10:
            number, digit = divmod(number * 31 + 11, 23)
            letters += "bcdfghjklmnprstvwxyzaeu"[digit]
        self.words[letters] = place
        return letters.encode()

    def ip(self, place: str, size: int = 4) -> bytes:
        """An address of four or sixteen bytes, neither of which is common."""
        number = 89 + 3 * len(self.addresses)
        found = (
            bytes((93, 184, 16 + number % 200, number % 251))
            if size == 4
            else bytes.fromhex("2a03b0c0000300d0") + (0x6A1B2C3D00000000 + 0x1010101 * number).to_bytes(8, "big")
        )
        self.addresses[found] = place
        return found

    def signs(self, place: str) -> bytes:
        """An address whose four bytes are signs of ASCII."""
        found = b"+('" + b"*-.,/"[len(self.addresses) % 5 :][:1]
        self.addresses[found] = place
        return found

    def mac(self, place: str) -> bytes:
        """An address of six bytes."""
        found = bytes((0x52, 0x54, 0x9A, 0x77, 0xB3, 40 + len(self.addresses)))
        self.addresses[found] = place
        return found


def spellings(word: str) -> Iterator[bytes]:
    """What a word may look like somewhere, in small letters where that matters not."""
    data = word.encode()
    for text in (data, data.upper(), data.capitalize(), data[::-1]):
        yield text
        yield text.hex().encode()
        yield b"".join(b"\\%o" % byte for byte in text)
        yield b"".join(b"\\x%02x" % byte for byte in text)
        yield b"".join(b"%%%02x" % byte for byte in text)
        yield b"".join(b"\\u%04x" % byte for byte in text)
        yield b" ".join(b"%02x" % byte for byte in text)
        yield text.decode().encode("utf-16-le")[:-1]
        for before in range(3):
            yield base64.b64encode(bytes(before) + text)[4 if before else 0 : -4]


class Talk:
    """A connection and its frames."""

    def __init__(self, client: bytes, server: bytes, ports: tuple[int, int], macs: tuple[bytes, bytes]) -> None:
        self.ends = (client, server)
        self.ports, self.macs = ports, macs
        self.seqs = [1000, 5000]
        self.frames: list[bytes] = []

    def send(
        self, payload: bytes, by: int = 0, flags: int = 0x18, options: bytes = b"", ip_options: bytes = b""
    ) -> None:
        """A segment, by the client unless ``by`` is 1."""
        options += b"\x01" * (-len(options) % 4)
        words = 5 + len(options) // 4
        ack = self.seqs[1 - by] if flags & 0x10 else 0
        sport, dport = self.ports[by], self.ports[1 - by]
        segment = struct.pack(">HHIIBBHHH", sport, dport, self.seqs[by], ack, words << 4, flags, 1024, 0, 0)
        segment += options + payload
        self.seqs[by] += len(payload) + (flags & 3 != 0)
        source, destination = self.ends[by], self.ends[1 - by]
        if len(source) == 4:
            packet, kind = ipv4(segment, src=source, dst=destination, options=ip_options), 0x0800
        else:
            packet = struct.pack(">IHBB", 6 << 28, len(ip_options) + len(segment), 43 if ip_options else 6, 64)
            packet, kind = packet + source + destination + ip_options + segment, 0x86DD
        self.frames.append(self.macs[1 - by] + self.macs[by] + b"\x81\x00\x00\x2a" + kind.to_bytes(2, "big") + packet)

    def open(self, options: bytes = b"", payload: bytes = b"") -> None:
        """The handshake."""
        self.send(payload, 0, 2, options)
        self.send(b"", 1, 0x12)
        self.send(b"", 0, 0x10)

    def close(self, reason: bytes = b"") -> None:
        """The end, perhaps with a reason in the last segment."""
        self.send(b"", 0, 0x11)
        self.send(reason, 1, 0x14)


def greeting(marks: Marks) -> bytes:
    """A ClientHello of which every extension says something."""
    w = marks.word
    names = struct.pack("!HBH", 13, 0, 10) + w("SNI")
    binders = struct.pack("!HB", 33, 32) + (w("binder") * 4)[:32]
    identity = w("PSK identity")
    keys = struct.pack("!HH", len(identity) + 6, len(identity)) + identity + bytes(4) + binders
    alpn = w("ALPN")
    config = w("ECH config")
    share = w("key share") * 3
    extensions = b"".join(
        (
            extension(0, names),
            extension(35, w("ticket") * 4),
            extension(16, struct.pack("!HB", len(alpn) + 1, len(alpn)) + alpn),
            extension(0xFE0D, b"\0\0\1\0\1\7" + struct.pack("!H", len(config)) + config + b"\0\x0a" + w("ECH payload")),
            extension(51, struct.pack("!HHH", len(share) + 4, 29, len(share)) + share),
            extension(44, struct.pack("!H", 10) + w("cookie")),
            extension(0x4A4A, w("unknown extension")),
            extension(17513, w("application settings")),
            extension(21, w("padding")),
            extension(41, keys),
        )
    )
    return record(
        HANDSHAKE, client_hello(extensions, random=(w("random") * 4)[:32], session_id=(w("session") * 4)[:32])
    )


def der(tag: int, *parts: bytes) -> bytes:
    """One value."""
    body = b"".join(parts)
    return (
        bytes((tag, len(body))) + body if len(body) < 128 else bytes((tag, 0x82)) + len(body).to_bytes(2, "big") + body
    )


def certificate(marks: Marks) -> bytes:
    """A Certificate message whose names are all somebody's."""
    w = marks.word

    def name(place: str) -> bytes:
        kinds = ((3, "CN", 0x0C), (10, "O", 0x13), (11, "OU", 0x14), (7, "L", 0x16), (9, "street", 0x1E))
        return der(0x30, *(
            der(0x31, der(0x30, der(6, bytes((0x55, 4, kind))), der(tag, text(f"{place} {title}", tag))))
            for kind, title, tag in kinds
        ))  # fmt: skip

    def text(place: str, tag: int) -> bytes:
        return w(place).decode().encode("utf-16-be") if tag == 0x1E else w(place)

    others = der(0xA0, der(6, b"\x2b\x06\x01\x04\x01\x82\x37\x14\x02\x03"), der(0xA0, der(0x0C, w("UPN"))))
    alternatives = der(
        0x30,
        der(0x82, w("DNS name") + b".corp"),
        der(0x81, w("mail") + b"@corp"),
        der(0x86, b"spiffe://" + w("URI")),
        der(0x87, marks.ip("alternative")),
        der(0xA4, name("directory")),
        others,
    )
    aia = der(0x30, der(0x30, der(6, b"\x2b\x06\x01\x05\x05\x07\x30\x01"), der(0x86, b"http://" + w("OCSP"))))
    extensions = der(
        0xA3,
        der(
            0x30,
            der(0x30, der(6, b"\x55\x1d\x11"), der(4, alternatives)),
            der(0x30, der(6, b"\x2b\x06\x01\x05\x05\x07\x01\x01"), der(4, aia)),
            der(0x30, der(6, b"\x60\x86\x48\x01\x86\xf8\x42\x01\x0d"), der(4, der(0x16, w("comment")))),
        ),
    )
    inner = der(
        0x30,
        der(2, w("serial")),
        der(0x30, der(6, b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b"), b"\x05\0"),
        name("issuer"),
        der(0x30, der(0x17, b"260101000000Z"), der(0x17, b"270101000000Z")),
        name("subject"),
        der(0x30, der(0x30, der(6, b"\x2b\x65\x70")), der(3, b"\0" + w("key"))),
        extensions,
    )
    whole = der(0x30, inner, der(0x30, der(6, b"\x2b\x65\x70")), der(3, b"\0" + w("signature")))
    chain = len(whole).to_bytes(3, "big") + whole
    return message(11, len(chain).to_bytes(3, "big") + chain)


def answer(marks: Marks) -> bytes:
    """What a server of TLS 1.2 sends: in clear, with a request for certificates and a ticket."""
    w = marks.word
    authority = der(0x30, der(0x31, der(0x30, der(6, b"\x55\x04\x03"), der(0x0C, w("authority")))))
    request = b"\x01\x40\0\x02\x04\x03" + struct.pack("!HH", len(authority) + 2, len(authority)) + authority
    messages = (
        server_hello(extension(16, b"\0\x03\x02h2"), random=(w("server random") * 4)[:32]),
        certificate(marks),
        message(22, b"\x01\0\0\x0a" + w("OCSP response")),
        message(12, b"\x03\0\x1d\x0a" + w("exchange") + b"\x04\x03\0\x0a" + w("exchange signature")),
        message(13, request),
        message(14, b""),
        message(4, bytes(4) + b"\0\x0a" + w("new ticket")),
        message(16, b"\0\x0a" + w("identity of a PSK")),
        message(24, w("supplemental")),
    )
    return b"".join(record(HANDSHAKE, each) for each in messages)


def tls(talk: Talk, marks: Marks, hello: bytes, reply: bytes) -> None:
    """A TLS connection after whatever came before."""
    w = marks.word
    talk.send(hello)
    talk.send(reply, 1)
    talk.send(record(20, b"\x01") + record(HANDSHAKE, w("finished") * 4))
    talk.send(record(DATA, w("content") * 9))
    talk.send(record(DATA, w("answer") * 9)[:40], 1)
    talk.send(w("heartbeat") * 3, 1)
    talk.send(record(ALERT, b"\x01\0") + record(ALERT, w("encrypted alert") * 2))


def said_before(marks: Marks) -> list[list[tuple[int, bytes]]]:
    """What is said before TLS: by whom (1 is the server), and what."""
    w, ip = marks.word, marks.ip
    dotted = [".".join(map(str, ip(f"PROXY {n}"))).encode() for n in range(5)]
    tlvs = b"".join(struct.pack("!BH", kind, 10) + w(f"TLV {kind}") for kind in (1, 2, 5, 0x30, 0xE0))
    body = ip("PROXY v2") + ip("PROXY v2") + struct.pack("!HH", 50000, 443) + tlvs
    ends = ip("PROXY v2 of IPv6", 16) + ip("PROXY v2 of IPv6", 16) + struct.pack("!HH", 50000, 443)
    unix = w("PROXY of UNIX").ljust(108, b"\0") + w("PROXY of UNIX").ljust(108, b"\0")
    v2 = b"\r\n\r\n\0\r\nQUIT\n"
    return [
        [(0, b"PROXY TCP4 %s %s 56324 443\r\n" % tuple(dotted[:2]))],
        [(0, v2 + b"\x21\x11" + struct.pack("!H", len(body)) + body)],
        [(0, v2 + b"\x21\x21" + struct.pack("!H", len(ends)) + ends)],
        [(0, v2 + b"\x21\x31" + struct.pack("!H", len(unix)) + unix)],
        [
            (0, b"CONNECT %s.corp.example:443 HTTP/1.1\r\nHost: %s:443\r\n" % (w("CONNECT"), dotted[2])
                + b"Proxy-Authorization: Basic %s\r\n" % base64.b64encode(w("user") + b":" + w("password"))
                + b"X-%s: %s\r\n\r\n" % (w("header"), w("value"))),
            (1, b"HTTP/1.1 200 %s\r\nVia: %s\r\nX-Client: %s\r\n\r\n" % (w("reason"), w("via"), dotted[3])),
        ],
        [
            (0, b"\5\2\0\2"), (1, b"\5\2"),
            (0, b"\1\x0a" + w("SOCKS user") + b"\x0a" + w("SOCKS password")), (1, b"\1\0"),
            (0, b"\5\1\0\3\x0a" + w("SOCKS host") + b"\1\xbb"), (1, b"\5\0\0\1" + ip("SOCKS bound") + b"\1\xbb"),
        ],
        [(0, b"\4\1\1\xbb\0\0\0\1" + w("SOCKS 4 user") + b"\0" + w("SOCKS 4 host") + b"\0"),
         (1, b"\0\x5a\0\0" + ip("SOCKS 4"))],
        [
            (1, b"220-%s.example ESMTP %s\r\n220 %s\r\n" % (w("banner"), w("software"), w("more"))),
            (0, b"EHLO %s\r\n" % w("EHLO")),
            (1, b"250-%s at your service [%s]\r\n250 STARTTLS\r\n" % (w("greeted"), dotted[4])),
            (0, b"STARTTLS\r\n"), (1, b"220 %s go ahead\r\n" % w("ahead")),
        ],
        [(1, b"* OK %s IMAP4rev1 ready\r\n" % w("IMAP")), (0, b"%s STARTTLS\r\n" % w("tag")),
         (1, b"%s OK begin\r\n" % w("tag of an answer"))],
        [(0, b"<?xml version='1.0'?><stream:stream to='%s' from='%s@x'>" % (w("XMPP"), w("JID")))],
        [(0, b"\0\0\0\x2b\0\3\0\0user\0%s\0database\0%s\0\0" % (w("PostgreSQL user"), w("database")))],
        [(1, b"\x4a\0\0\0\x0a8.0.1-%s\0\1\0\0\0abcdefgh\0\xff\xf7" % w("MySQL version") + bytes(40))],
        [(0, b"\3\0\0\x2b\x26\xe0\0\0\0\0\0Cookie: mstshash=%s\r\n\1\0\x08\0\3\0\0\0" % w("RDP"))],
        [(0, b"\0\x28\x12\x34\1\0\0\1\0\0\0\0\0\1\x0a" + w("DNS over TCP") + b"\0\0\1\0\1" + ip("DNS over TCP"))],
        [(0, b"\xff\0" + marks.signs("signs among bytes") + b"\0"), (1, marks.signs("signs alone"))],
        [(0, b"\x01\x02" + w("binary") + b"\xff" + ip("binary", 16) + w("binary wide").decode().encode("utf-16-le"))],
        [(0, b"GET /%s?%s=%s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n"
            % (w("path"), w("query"), w("value of a query"), w("Host"), w("Cookie"))),
         (1, b"HTTP/1.1 302 Found\r\nLocation: http://%s:8443/\r\n\r\n%s" % (w("Location"), w("body")))],
    ]  # fmt: skip


def lookup(marks: Marks, name: bytes) -> list[bytes]:
    """A question to DNS and its answer, with all that an answer may hold."""
    w, ip = marks.word, marks.ip
    query = b"\x0a" + name + b"\0"
    soa = b"\x0a" + w("SOA") + b"\0\x0a" + w("mailbox") + b"\0" + bytes(20)
    subnet = struct.pack("!HHHBB", 8, 8, 1, 32, 0) + ip("client subnet") + struct.pack("!HH", 10, 10) + w("DNS cookie")
    additional = b"\0" + struct.pack("!HHIH", 41, 1232, 0, len(subnet)) + subnet
    question = struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 1) + query + b"\0\1\0\1" + additional
    found = (
        (5, b"\x0a" + w("CNAME") + b"\xc0\x0c"), (1, ip("A")), (28, ip("AAAA", 16)), (16, b"\x0a" + w("TXT")), (6, soa),
        (33, b"\0\1\0\1\1\xbb\x0a" + w("SRV") + b"\0"), (15, b"\0\1\x0a" + w("MX") + b"\0"),
        (65, b"\0\1\x0a" + w("HTTPS") + b"\0"),
        (12, b"\x0a" + w("PTR") + b"\0"), (43, w("DS")), (99, w("unknown record")),
    )  # fmt: skip
    records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data for kind, data in found)
    return [question, struct.pack("!HHHHHH", 7, 0x8180, 1, len(found), 0, 0) + query + b"\0\1\0\1" + records]


def capture(marks: Marks) -> bytes:
    """A pcapng file."""
    w, ip, mac = marks.word, marks.ip, marks.mac
    frames: list[bytes] = []
    macs = mac("client's card"), mac("server's card")
    hello, reply = greeting(marks), answer(marks)
    client, server, resolver = ip("client"), ip("server"), ip("resolver")
    for at, data in enumerate(lookup(marks, w("question"))):
        ends = (client, resolver) if at == 0 else (resolver, client)
        ports = (53, 40000) if at == 0 else (40000, 53)
        frames.append(ethernet(ipv4(udp(data, *ports), 17, src=ends[0], dst=ends[1])))
    frames.append(macs[0] + macs[1] + b"\x08\x06\0\1\x08\0\6\4\0\1" + mac("ARP") + ip("ARP") + bytes(6) + ip("ARP"))
    secret = b"\x22\x0c" + w("TFO") + b"\x13\x12" + (w("MD5") * 2)[:16] + b"\x01\x01"
    path = b"\x1e\x0c" + w("MPTCP")
    for number, turns in enumerate(said_before(marks)):
        talk = Talk(client, server, (50000 + number, 5000 + number), macs)
        talk.open(secret if number % 2 else path, b"" if number else w("data of a SYN"))
        for by, data in turns:
            talk.send(data, by)
        tls(talk, marks, hello, reply)
        talk.close(w("reason of a RST"))
        frames += talk.frames
    route = b"\x07\x0b\x08" + ip("recorded route") + ip("recorded route")
    old = Talk(client, server, (51000, 443), macs)
    old.open()
    old.send(hello, ip_options=route + b"\0")
    quoted = ipv4(
        struct.pack(">HHI", 51000, 443, 1000) + w("quoted") * 3, src=client, dst=server, options=route + b"\0"
    )
    error = struct.pack(">BBHI", 3, 1, 0, 0) + quoted
    frames += old.frames
    frames.append(
        ethernet(ipv4(error[:2] + checksum(error).to_bytes(2, "big") + error[4:], 1, src=ip("router"), dst=client))
    )
    six = Talk(ip("client", 16), ip("server", 16), (51001, 443), macs)
    routing = b"\6\2\0\0" + bytes(4) + ip("routing header", 16)
    six.open()
    six.send(hello, ip_options=routing)
    six.close()
    frames += [frame + w("padding of a frame") for frame in six.frames]
    outer = Talk(ip("tunnel"), ip("tunnel"), (1, 4789), (mac("tunnel"), mac("tunnel")))
    inner = Talk(ip("inside"), ip("inside"), (51002, 443), (mac("inside"), mac("inside")))
    inner.open()
    tls(inner, marks, hello, reply)
    for frame in inner.frames:
        packet = ipv4(udp(b"\x08\0\0\0\0\0\x2a\0" + frame, 4789), 17, src=outer.ends[0], dst=outer.ends[1])
        frames.append(outer.macs[1] + outer.macs[0] + b"\x08\0" + packet)
    texts = [option(code, w(f"section {code}")) for code in (1, 2, 3, 4, 2988)]
    interface = [option(code, w(f"interface {code}")) for code in (1, 2, 3, 12, 15, 2988)]
    interface += [
        option(4, ip("interface") + ip("netmask")),
        option(6, mac("interface") + b"\0\0"),
        option(5, ip("if", 16) + b"\x40"),
    ]
    resolved = struct.pack("<HH", 1, 16) + pad(ip("resolved") + w("resolved name") + b"\0") + bytes(4)
    keys = b"CLIENT_RANDOM " + w("key log") + b" " + w("secret of a session")
    parts = [
        shb(options=b"".join(texts)),
        idb(options=b"".join(interface)),
        block(4, resolved),
        block(10, struct.pack("<II", 0x544C534B, len(keys)) + keys),
        block(0xBAD, struct.pack("<I", 32473) + w("custom block")),
    ]
    for at, frame in enumerate(frames):
        said = (
            option(1, b"comment by " + w("comment")) + option(2988, b"\0\0\0\0" + w("custom option"))
            if at < 40
            else b""
        )
        parts.append(epb(frame, STARTED_US + at * 1000, options=said + option(2, b"\1\0\0\0")))
    parts.append(block(5, struct.pack("<III", 0, 0, 0) + option(1, w("statistics"))))
    return b"".join(parts)
