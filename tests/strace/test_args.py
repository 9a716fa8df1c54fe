"""Strings, descriptors, addresses, events, messages: every style that strace prints them in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.strace.addresses import read_decoration, read_endpoint, read_sockaddr
from pcapstall.strace.args import ArgCursor, fd_decoration, read_fd, read_flags, read_string
from pcapstall.strace.messages import find_vector, read_rights, read_vector
from pcapstall.strace.model import EPOLL, FILE, PIPE, SOCKET, SPECIAL, UNKNOWN
from pcapstall.strace.network import OPEN_BITS
from pcapstall.strace.waits import (
    EVENT_BITS,
    mask_text,
    read_event,
    read_events,
    read_poll_result,
    read_pollfds,
    read_select_result,
)
from pcapstall.strace.walk import find_close, next_separator, skip_decoration


def args_of(text: str) -> list[str]:
    cursor = ArgCursor()
    data = text.encode()
    cursor.open(data, 0, len(data))
    found = []
    while cursor.next():
        found.append(data[cursor.start : cursor.end].decode())
    return found


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("3, 4", ["3", "4"]),
        ('1, "a, b) = 5", 9', ["1", '"a, b) = 5"', "9"]),
        ("{a, b}, [c, d], f(e, g)", ["{a, b}", "[c, d]", "f(e, g)"]),
        ("5</tmp/a, b>, 3", ["5</tmp/a, b>", "3"]),
        ("0x1 /* A, B */|0x2 /* C */, 3", ["0x1 /* A, B */|0x2 /* C */", "3"]),
        ("4,  ^C0x7ff, 1024", ["4", "0x7ff", "1024"]),
        ("", []),
        ("8, {fd=7}], 2", ["8", "{fd=7}"]),
    ],
)
def test_arguments(text: str, args: list[str]) -> None:
    assert args_of(text) == args


@pytest.mark.parametrize(
    ("text", "value", "whole"),
    [
        (r'"\26\3\1\2\0\1"', b"\x16\x03\x01\x02\x00\x01", True),
        (r'"\1778"', b"\x7f8", True),
        (r'"\0018\0009"', b"\x018\x009", True),
        (r'"\x16\x03\xff"', b"\x16\x03\xff", True),
        (r'"a\n\t\r\v\f\"\\"', b'a\n\t\r\v\f"\\', True),
        ('"abc"...', b"abc", False),
        ('""...', b"", False),
        ('""', b"", True),
        (r'"\26\3"...', b"\x16\x03", False),
        ("0x7ffdd4e09730", b"", False),
        ("NULL", b"", False),
        ('@"lab>x"', b"lab>x", True),
        ('"\u00e9"', "\u00e9".encode(), True),
        (r'"\777"', b"\xff", True),
        ('"open', b"open", False),
    ],
)
def test_strings(text: str, value: bytes, whole: bool) -> None:
    data = text.encode()
    assert read_string(data, 0, len(data), 1000) == (value, whole)


def strace_string(data: bytes, style: str) -> bytes:
    """Quote as strace does: `print_quoted_string` with its shortest octal, -x and -xx."""
    if style == "hex":
        return b'"' + b"".join(b"\\x%02x" % byte for byte in data) + b'"'
    named = {9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}
    out = []
    for position, byte in enumerate(data):
        after = data[position + 1 : position + 2]
        if byte in named:
            out.append(named[byte])
        elif 32 <= byte < 127:
            out.append(bytes([byte]))
        elif after and b"0" <= after <= (b"9" if style == "old" else b"7"):
            out.append(b"\\%03o" % byte)
        else:
            out.append(b"\\%o" % byte)
    return b'"' + b"".join(out) + b'"'


@given(st.binary(max_size=80), st.sampled_from(["octal", "old", "hex"]), st.integers(0, 100))
def test_any_string_comes_back(data: bytes, style: str, limit: int) -> None:
    text = strace_string(data, style)
    assert read_string(text, 0, len(text), limit) == (data[:limit], len(data) <= limit)
    assert find_close(text + b") = 5", 0, len(text) + 5) == len(text)


@pytest.mark.parametrize(
    ("text", "fd", "decoration"),
    [
        ("3", 3, ""),
        ("0x1e, 4", 30, ""),
        ("3<socket:[61694]>, 4", 3, "socket:[61694]"),
        ("6<TCP:[127.0.0.1:42->127.0.0.1:47]>, 1", 6, "TCP:[127.0.0.1:42->127.0.0.1:47]"),
        (r"8</a b\74c\76,\"d>(deleted), 1", 8, r"/a b\74c\76,\"d"),
        ("0</dev/null<char 1:3>>, 1", 0, "/dev/null<char 1:3>"),
        ("AT_FDCWD</opt>, 1", -1, ""),
        ("-1, 1", -1, ""),
        ("0x7ffeb6b168c4", -1, ""),
        ("NULL", -1, ""),
        ("", -1, ""),
    ],
)
def test_descriptors(text: str, fd: int, decoration: str) -> None:
    data = text.encode()
    assert read_fd(data, 0, len(data)) == fd
    assert fd_decoration(data, 0, len(data)) == decoration.encode()


V6_ONE = bytes(15) + b"\1"


@pytest.mark.parametrize(
    ("text", "family", "endpoint"),
    [
        ('{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("1.2.3.4")}', 2, (b"\1\2\3\4", 443)),
        ('{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("\\x31\\x2e\\x32\\x2e\\x33\\x2e\\x34")}', 2,
         (b"\1\2\3\4", 443)),
        ('{sa_family=0x2, sin_port="\\x9d\\x91", sin_addr="\\x7f\\x00\\x00\\x01"}', 2, (b"\x7f\0\0\1", 0x9D91)),
        ('{sa_family=0x2 /* AF_INET */, sin_port="\\xc5\\xff" /* htons(50687) */, sin_addr="\\x7f\\x00\\x00\\x01"'
         ' /* inet_addr("127.0.0.1") */}', 2, (b"\x7f\0\0\1", 50687)),
        ('{sa_family=AF_INET6, sin6_port=htons(5), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &sin6_addr),'
         " sin6_scope_id=0}", 10, (V6_ONE, 5)),
        ('{sa_family=AF_INET6, sin6_port=htons(5), inet_pton(AF_INET6, "::ffff:1.2.3.4", &sin6_addr), sin6_flowinfo=0}',
         10, (b"\1\2\3\4", 5)),
        ('{sa_family=0xa, sin6_port="\\x00\\x05", sin6_flowinfo="\\x00", sin6_addr="' + "\\x00" * 15 + '\\x01"}', 10,
         (V6_ONE, 5)),
        ('{sa_family=AF_UNIX, sun_path=@"lab>x"}', 1, None),
        ("{sa_family=AF_UNSPEC, sa_data=\"\\0\\0\"}", 0, None),
        ("{sa_family=AF_INET, sin_port=htons(99999)}", 2, None),
        ("{sa_family=AF_PACKET, x=1}", -1, None),
    ],
)  # fmt: skip
def test_socket_addresses(text: str, family: int, endpoint: tuple[bytes, int] | None) -> None:
    data = text.encode()
    address = read_sockaddr(data, 0, len(data))
    assert address is not None
    assert (address.family, address.endpoint) == (family, endpoint)


def test_unix_paths_and_addresses_that_were_not_printed() -> None:
    data = b'{sa_family=AF_UNIX, sun_path=@"lab>x"}'
    address = read_sockaddr(data, 0, len(data))
    assert address is not None
    assert address.path == b"@lab>x"
    assert read_sockaddr(b"0x7ffeb6b16620", 0, 14) is None
    assert read_sockaddr(b"NULL", 0, 4) is None


@pytest.mark.parametrize(
    ("text", "kind", "inode", "local", "peer"),
    [
        ("TCP:[10.0.0.1:5->10.0.0.2:443]", SOCKET, -1, (b"\x0a\0\0\1", 5), (b"\x0a\0\0\2", 443)),
        ("TCPv6:[[::1]:5->[::1]:443]", SOCKET, -1, (V6_ONE, 5), (V6_ONE, 443)),
        ("TCPv6:[[::ffff:1.2.3.4]:5->[::ffff:1.2.3.5]:443]", SOCKET, -1, (b"\1\2\3\4", 5), (b"\1\2\3\5", 443)),
        ("TCP:[127.0.0.1:47739]", SOCKET, -1, (b"\x7f\0\0\1", 47739), None),
        ("TCP:[61654]", SOCKET, 61654, None, None),
        ("socket:[61694]", SOCKET, 61694, None, None),
        ("UNIX-STREAM:[61701->61702]", SOCKET, -1, None, None),
        ("NETLINK:[ROUTE:1234]", SOCKET, -1, None, None),
        ("anon_inode:[eventpoll]", EPOLL, -1, None, None),
        ("anon_inode:[eventfd]", SPECIAL, -1, None, None),
        ("{eventfd-count=0, eventfd-id=2, eventfd-semaphore=0}", SPECIAL, -1, None, None),
        ("pipe:[1]", PIPE, -1, None, None),
        ("/etc/hosts", FILE, -1, None, None),
        ("what", UNKNOWN, -1, None, None),
    ],
)
def test_decorations(text: str, kind: int, inode: int, local: object, peer: object) -> None:
    found = read_decoration(text.encode())
    assert (found.kind, found.inode, found.local, found.peer) == (kind, inode, local, peer)


@pytest.mark.parametrize("text", ["", "1.2.3.4", "1.2.3.4:70000", "1.2.3:5", ":5", "[::1]", "x:5", "1.2.3.4:"])
def test_no_endpoints(text: str) -> None:
    assert read_endpoint(text.encode()) is None


@pytest.mark.parametrize(
    ("text", "mask", "data"),
    [
        ("{EPOLLIN, {u32=8, u64=8}}", 1, 8),
        ("{events=EPOLLIN|EPOLLET, data={u32=5, u64=16496501339874918405}}", 1 | 1 << 31, 16496501339874918405),
        ("{events=EPOLLOUT, data=0x8}", 4, 8),
        ("{events=0x4, data={u32=8, u64=8}}", 4, 8),
        ("{events=0x1 /* EPOLLIN */, data={u32=4, u64=4}}", 1, 4),
        ("{events=0, data={u32=4, u64=4}}", 0, 4),
    ],
)
def test_epoll_events(text: str, mask: int, data: int) -> None:
    event = read_event(text.encode(), 0, len(text))
    assert event is not None
    assert (event.mask, event.data) == (mask, data)
    for array in (f"[{text}]", f"{{{text}}}"):
        found = read_events(array.encode(), 0, len(array))
        assert [(item.mask, item.data) for item in found.items] == [(mask, data)]
        assert not found.cut


@pytest.mark.parametrize(
    ("text", "items", "cut"),
    [
        ("[]", 0, False),
        ("{}", 0, False),
        ("[...]", 0, True),
        ("[{events=EPOLLIN, data=0x1}, ...]", 1, True),
        ("0x7ffeb6b16550", 0, True),
    ],
)
def test_epoll_arrays(text: str, items: int, cut: bool) -> None:
    found = read_events(text.encode(), 0, len(text))
    assert (len(found.items), found.cut) == (items, cut)


def test_no_epoll_event() -> None:
    assert read_event(b"NULL", 0, 4) is None
    assert read_event(b"0x7ffe9b97c9c4", 0, 14) is None


def test_poll() -> None:
    text = b"[{fd=7<TCP:[1:2->3:4]>, events=POLLIN|POLLRDHUP}, {fd=-1}, {fd=6, events=0x1 /* POLLIN */}]"
    assert [(item.fd, item.mask) for item in read_pollfds(text, 0, len(text)).items] == [(7, 0x2001), (6, 1)]
    text = b"1 ([{fd=7, revents=POLLIN}])"
    assert [(item.fd, item.mask) for item in read_poll_result(text, 0, len(text)).items] == [(7, 1)]
    assert not read_poll_result(b"0 (Timeout)", 0, 11).items
    assert read_poll_result(b"1 ([...])", 0, 9).cut
    assert read_pollfds(b"0x7ffe", 0, 6).cut
    assert not read_pollfds(b"NULL", 0, 4).cut


def test_select() -> None:
    text = b"2 (in [7 9<TCP:[a b]>], out [4], left {tv_sec=0, tv_nsec=997164})"
    found = read_select_result(text, 0, len(text))
    assert [(item.fd, item.mask) for item in found.items] == [(7, 1), (9, 1), (4, 4)]
    assert not read_select_result(b"0 (Timeout)", 0, 11).items


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK", 0x80801),
        ("0x1|0x80000", 0x80001),
        ("0x1 /* SOCK_STREAM */|0x80800 /* SOCK_CLOEXEC|SOCK_NONBLOCK */", 0x80801),
        ("O_RDWR|O_WHATEVER", 0),
        ("0", 0),
        ("NULL", -1),
        ("", -1),
        ("{x}", -1),
        ("0x", 0),
        ("0xg|SOCK_STREAM", 0),
    ],
)
def test_flags(text: str, value: int) -> None:
    assert read_flags(text.encode(), 0, len(text), OPEN_BITS) == value


def test_masks_as_text() -> None:
    assert mask_text(1 | 4 | 1 << 31) == "EPOLLIN|EPOLLOUT|EPOLLET"
    assert mask_text(1, "POLL") == "POLLIN"
    assert (mask_text(-1), mask_text(0)) == ("?", "0")
    assert EVENT_BITS[b"EPOLLRDHUP"] == EVENT_BITS[b"POLLRDHUP"] == 0x2000


@pytest.mark.parametrize(
    ("text", "moved", "data", "whole"),
    [
        (r'[{iov_base="\26\3\1\2\0", iov_len=5}, {iov_base="abc"..., iov_len=60}], 2', 65, b"\x16\3\1\2\0abc", False),
        (r'[{iov_base="ab", iov_len=2}, {iov_base="cd", iov_len=9}], 2', 4, b"abcd", True),
        (r'[{"ab", 2}, {"cde"..., 9}], 2', 11, b"abcde", False),
        (r'[{iov_base="ab"..., iov_len=4}, {iov_base="xy", iov_len=2}]', 6, b"ab", False),
        ("[...]", 6, b"", False),
        ("0x7ffe", 6, b"", False),
    ],
)
def test_vectors(text: str, moved: int, data: bytes, whole: bool) -> None:
    shown = read_vector(text.encode(), 0, len(text), moved, 96)
    assert (shown.data, shown.whole) == (data, whole)


@pytest.mark.parametrize(
    ("text", "vector", "rights"),
    [
        ('{msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="x", iov_len=1}], msg_iovlen=1, msg_control=[{cmsg_len=20,'
         " cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[6<TCP:[42220]>, 7]}], msg_controllen=24}",
         '[{iov_base="x"', [6, 7]),
        ('{msg_name(0)=NULL, msg_iov(1)=[{"..", 76}], msg_controllen=24, [{cmsg_len=20, cmsg_level=SOL_SOCKET,'
         " cmsg_type=SCM_RIGHTS, [15]}], msg_flags=0}", '[{"..", 76}]', [15]),
        ("{msg_control=[{cmsg_len=20, cmsg_level=0x1, cmsg_type=0x1, cmsg_data=[4]}]}", "", [4]),
        ("{msg_control=[{cmsg_len=28, cmsg_level=SOL_SOCKET, cmsg_type=SCM_CREDENTIALS, cmsg_data={pid=4}}]}", "", []),
        ("{msg_control=[{cmsg_len=32, cmsg_level=SOL_IP, cmsg_type=0x1, cmsg_data=[4]}]}", "", []),
        ("{msg_namelen=0}", "", []),
        ("0x7ffe", "", []),
    ],
)  # fmt: skip
def test_messages(text: str, vector: str, rights: list[int]) -> None:
    data = text.encode()
    at = find_vector(data, 0, len(data))
    assert (data[at:].decode().startswith(vector)) if vector else at == -1
    assert read_rights(data, 0, len(data)) == rights


@given(st.one_of(st.binary(max_size=200), st.text('{}[]()<>"\\,=|/* 0x13abEPOLLINfdu64msg_iov.:->', max_size=200)))
def test_any_text_is_read_to_something(text: bytes | str) -> None:
    data = text.encode() if isinstance(text, str) else text
    end = len(data)
    for function in (read_event, read_events, read_pollfds, read_poll_result, read_select_result, read_sockaddr,
                     read_rights, find_vector, read_fd, fd_decoration, find_close, next_separator):  # fmt: skip
        function(data, 0, end)
    read_flags(data, 0, end, EVENT_BITS)
    read_vector(data, 0, end, 50, 96)
    read_string(data, 0, end, 20)
    read_decoration(data)
    assert len(args_of(data.decode("latin-1"))) <= end


def test_a_line_of_angles_takes_no_time() -> None:
    data = b"a<" * 200_000
    assert find_close(data, 0, len(data)) == -1
    assert next_separator(data, 0, len(data)) == len(data)
    assert skip_decoration(data, 1, len(data)) == -1
