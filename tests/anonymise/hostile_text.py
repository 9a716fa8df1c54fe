"""A strace and a log that say something of somebody in every place where words, numbers or addresses stand."""

import base64
from collections.abc import Callable
from urllib.parse import quote

from hostile import Marks


def _dotted(packed: bytes) -> str:
    return ".".join(map(str, packed))


def _octal(data: bytes) -> str:
    return "".join(f"\\{byte:o}" for byte in data)


def _hexadecimal(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def strace(marks: Marks) -> list[str]:
    """Lines of all kinds, whole and broken."""

    def w(place: str) -> str:
        return marks.word(place).decode()

    def ip(place: str) -> str:
        return _dotted(marks.ip(place))

    raw, back = marks.ip("htonl"), marks.ip("s_addr")
    card = ", ".join(f"0x{byte:02x}" for byte in marks.mac("sll_addr"))
    head = "12 1796023442.108038"
    whole = [
        f'execve("/srv/{w("path")}", ["{w("argument")}", "--x={w("option")}"], ["A={w("variable")}"]) = 0',
        f'execve("/bin/sh", ["sh"], ["A=b"] /* {w("comment")} */) = 0',
        f'execve("/bin/sh", ["sh"], 0x7ffd /* 12 vars {w("behind a number")} */) = 0',
        f'read(5<TCP:[{w("host")}:443->{ip("TCP")}:80]>, "{w("read")}", 10) = 10',
        f'read(5<UDPv6:[[2a03:b0c0:3:d0::{marks.ip("UDP", 16).hex()[-4:]}]:53]>, "", 10) = 0',
        f'read(7<UNIX-STREAM:[123->456,"/run/{w("socket")}"]>, "", 10) = 0',
        f"read(7</var/lib/{w('directory')}/db>, 8<anon_inode:[{w('anon inode')}]>, 9<pipe:[{w('pipe')}]>) = 0",
        f"read(7<{w('kind')}:[12]>, 8<NETLINK:[{w('netlink')}:12]>) = 0",
        f'openat(AT_FDCWD</home/{w("working directory")}>, "{w("relative")}", O_RDONLY) = 3</{w("result")}>(deleted)',
        f'openat(AT_FDCWD, "{_octal(marks.word("octal"))}", O_RDONLY) = 3',
        f'openat(AT_FDCWD, "{_hexadecimal(marks.word("hexadecimal"))}", O_RDONLY) = 3',
        f'connect(5, {{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("{w("no address")}")}}, 16) = 0',
        f'connect(5, {{sa_family=AF_INET, sin_addr=inet_addr("{ip("inet_addr")}")}}, 16) = -1 EPERM ({w("message")})',
        f"connect(5, {{sa_family=AF_INET, sin_addr=htonl(0x{raw.hex()})}}, 16) = -1 E{w('error').upper()} (Owner died)",
        f"connect(5, {{sa_family=AF_INET, sin_addr={{s_addr=0x{back[::-1].hex()}}}}}, 16) = 0 ({w('remark')})",
        f"bind(5, {{sll_halen=6, sll_addr=[{card}]}}, 20) = 0 {w('behind it all')}",
        f'ioctl(3, SIOCGIFHWADDR, {{ifr_name="{w("interface")}", sa_data={marks.mac("hwaddr").hex(":")}}}) = 0',
        f"setsockopt(3, SOL_SOCKET, {w('constant').upper()}, {{{w('field')}=1, CAP_{w('flag')}=2}}, 6) = 0",
        f"{w('call')}(3, 4) = 5",
        f"kill(13<{w('another thread')}>, SIGTERM /* {w('remark of a number')} */) = 0",
        f'prctl(PR_SET_NAME, "{w("new name")}") = 0',
        f'sendmsg(4, {{msg_iov=[{{iov_base="GET /{w("request")} HTTP/1.1\\r\\n", iov_len=24}}]}}, 0) = 24',
        f'write(4, "{base64.b64encode(marks.word("Base64") * 2).decode()}", 28) = 28 <0.000021>',
        f'write(4, "PROXY TCP4 {ip("PROXY")} {ip("PROXY")} 1 2\\r\\n", 48) = 48',
    ]
    broken = [
        f"write(2, {w('broken')} {w('broken capitals').upper()} SECRET_{w('broken constant').upper()}",
        f'write(2, "{w("cut string")}',
        f"close(3 <unfinished ...> {w('behind unfinished')}",
        f"<... read resumed>{w('resumed')}, 8) = 8",
        f"--- SIGTERM {{si_signo=SIGTERM, si_pid=13<{w('sender')}>}} --- {w('behind a signal')}",
        f"--- SIGTERM {{si_signo=SIGTERM, si_code={w('code').upper()}, si_pid=13<{w('sender 2')}>}} ---",
        f"+++ exited with 0 +++ {w('behind an exit')}",
    ]
    lines = [f"{head} {line}" for line in (*whole, *broken)]
    lines += [
        f"12<{w('thread')}> 10:00:00.123456 close(3) = 0 <0.000012>",
        f"[pid    12<{w('thread in brackets')}>] close(3) = 0",
        f"12 [{w('user')}_u:{w('role')}_r:{w('type')}_t:s0] 1796023442.1 close(3) = 0",
        f'{head} open("/etc/hosts" [{w("user 2")}_u:object_r:{w("type 2")}_t:s0], O_RDONLY) = 3',
        f"strace: Process 13<{w('attached')}> attached",
        f"strace: {w('error of strace')}: No such file",
        f" > /usr/lib/{w('library')}.so({w('function')}+0x1b) [0x127]",
        f" | 00000  {marks.word('dump').hex(' ')}                    {w('dump as text')} |",
        f"Jan  1 10:00:00 {w('syslog host')} strace[12]: close(3) = 0",
        f"{w('output')} of the {w('output 2')} {ip('output')} {_octal(marks.word('octal output'))}",
        f"Script started on 2026-01-01 10:00:00+00:00 [COMMAND={w('command')}]",
    ]
    return lines


def log(marks: Marks) -> list[str]:
    """Lines of a log, of which not every word is known to be somebody's: no mark stands in what may stay."""

    def w(place: str) -> str:
        return marks.word(place).decode()

    def ip(place: str) -> str:
        return _dotted(marks.ip(place))

    def in_other(place: str, how: Callable[[bytes], str]) -> str:
        return how(marks.word(place) + b".example")

    four, six = marks.ip("hexadecimal"), marks.ip("IPv6", 16)
    kernel, mapped = marks.ip("/proc/net/tcp"), marks.ip("mapped").hex()
    card, bare = marks.mac("Cisco's"), marks.mac("bare")
    groups = six.hex(":", 2)
    backwards = ".".join(reversed(six.hex()))
    said = [
        f"connect {_dotted(marks.ip('in-addr')[::-1])}.in-addr.arpa and {backwards}.ip6.arpa",
        f"1.3.6.1.2.1.4.20.1.1.{ip('object identifier')} v1.2.3.{ip('version')}",
        f"{bare.hex()} 0x{marks.mac('bare 2').hex()} {card.hex('.', 2)} {marks.mac('dashes').hex('-')}",
        f"id_{marks.mac('behind _').hex()} if-{marks.mac('behind a dash').hex()}",
        f"   0: {kernel[::-1].hex().upper()}:1F96 {marks.ip('/proc').hex()}:0035 ip=0x{four.hex()}ab",
        f"[{groups}]:443 {groups}%{w('zone')} fe80::1%eth0 ::ffff:{ip('dotted')} ::ffff:{mapped[:4]}:{mapped[4:]}",
        f"user={w('user')} <{w('mailbox')}@{w('domain')}.example> {w('account')}@{w('machine')}",
        f"https://{w('URL user')}:{w('URL password')}@{w('URL host')}:8443/{w('URL path')}?{w('query')}={w('value')}",
        f"postgres://u:{w('PostgreSQL password')}@{ip('PostgreSQL')}:5432/{w('database')}",
        f'password={w("password")} "api_key": "{w("API key")}" Authorization: Bearer {w("bearer")} token: {w("token")}',
        f'{{"time":"2026-11-30T07:24:02.083Z","msg":"\\"secret\\":\\"{w("nested")}\\" {w("JSON host")}.example"}}',
        in_other("JSON", lambda data: "".join(f"\\u{byte:04x}" for byte in data)),
        in_other("octal", _octal),
        in_other("hexadecimal", _hexadecimal),
        in_other("percent", lambda data: "".join(f"%{byte:02X}" for byte in data)),
        in_other("entities", lambda data: "".join(f"&#{byte};" for byte in data)),
        f"x={quote(ip('percent')).replace('.', '%2E')} h={quote(w('host').upper() + '.EXAMPLE')}",
        f"sha {(marks.word('digits') * 2).hex()} {base64.b64encode(b'0' + marks.word('Base64') * 3).decode()}",
        f"pod {w('pod')}-7d9f8b6c5d-x2x4q is up, uuid {marks.word('uuid').hex()[:8]}-1b2c-4d5e-8f90-0a1b2c3d4e5f",
        f"{ip('commas').replace('.', ',')},195,80 ip_{ip('_').replace('.', '_')} ip-{ip('-').replace('.', '-')}.lan",
        f"{'.'.join(f'{byte:03}' for byte in marks.ip('zeros'))}",
        f"{w('tcpdump')}.example.443 > {ip('tcpdump')}.51234: Flags [S], {w('service')}.example.https",
    ]
    said += called_secrets(w)
    lines = [f"2026-11-30T07:24:02.083943Z  INFO {line}" for line in said]
    return [*lines, f"Nov 30 07:24:02 {w('syslog host')} sshd[7]: from {ip('syslog')} port 22"]


def called_secrets(w: Callable[[str], str]) -> list[str]:
    """What programs print of their secrets: of variables, options, headers, and strings of several words."""

    def two(place: str) -> str:
        return f"{w(place)} {w(f'{place}, second word')}"

    names = "DB_PASSWORD db.password AWS_SECRET_ACCESS_KEY access_token refresh_token PGPASSWORD SECRET_KEY_BASE"
    return [
        *(f"{name}={w(name)}" for name in names.split()),
        f"x-auth-token: {w('x-auth-token')} X-Api-Key: {w('X-Api-Key')} - db_password: {w('YAML')}",
        f'{{"db_password": "{w("prefix in JSON")}", "dbPassword":"{two("camel case")}"}}',
        f'{{"passwordHash": "{w("suffix")}", "tokens": ["{w("list")}", "{w("list 2")}"]}}',
        f"password=\"{two('double quotes')}\" passwd='{two('single quotes')}'",
        f'secret="{w("escape")}\\" {w("behind it")}"',
        f"password='{w('YAML quote')}''{w('behind a YAML quote')}' {{'api_key': '{two('Python')}'}}",
        f'{{"msg":"{{\\"password\\":\\"{w("in a string")} \\\\\\"{two("in a string twice")}\\"}}"}}',
        f'{{"msg":"{{\\u0022password\\u0022:\\u0022{two("escaped quotes")}\\u0022}}"}}',
        f'"password"=>"{two("Ruby")}" user[password]={w("Rails")} &quot;token&quot;: &quot;{two("HTML")}&quot;',
        f"run --password {w('option')} --db-password={w('option 2')} --token '{two('quoted option')}'",
        f'["--password", "{two("argument")}"] password="{two("cut string")}',
        f"Cookie: a={w('cookie')}; sid={w('cookie 2')}, {w('cookie 3')}",
        f'Set-Cookie: id="{w("Set-Cookie")}"; Path=/{w("Path")}',
        f'Proxy-Authorization: Digest username="{w("digest")}", response="{w("digest 2")}"',
        f"Authorization: {two('Authorization')}",
        f"curl -H 'Cookie: a={w('curl')}; b={w('curl 2')}' -H \"Authorization: Basic {w('basic')}\"",
        f'{{"headers":{{"Cookie":["a={w("Go")}; b={w("Go 2")}"],"Authorization":["Bearer {w("Go 3")}"]}}}}',
    ]
