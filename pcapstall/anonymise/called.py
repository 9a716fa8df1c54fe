"""Values that are called a secret: ``DB_PASSWORD=``, ``"api_key":``, ``--token``, ``Cookie:``; where each one stands.

What becomes of them, and of the text between, is not known here. Names are found by how they end, so that nothing
before them is read twice; values that are found are passed over, so that time grows with the length only.
"""

import re
from collections.abc import Iterator
from typing import Final

URL: Final = r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s\"'<>\\^`{|}]+"
_QUOTE: Final = r"(?:\\{0,15}[\"']|\\u002[27]|&(?:quot|apos|#3[49]);|%2[27])"
"""Also as it stands in a string within a string, JSON of .NET, HTML and a query."""
_SECRET: Final = (
    r"(?i:password|passwd|passphrase|passcode|pwd|secret|token|credential|jwt"
    r"|(?:api|access|account|app|auth|encryption|master|private|shared|signing)[_.-]?key|(?:client|session)[_.-]?id)"
    r"|(?<![A-Za-z])(?i:pass)|(?<=[a-z])Pass"
)
_SUFFIX: Final = (
    r"(?i:[_.-]?(?:key|id|value|hash|salt|base64|b64|base|data|old|new|current|confirm(?:ation)?|s|\d{1,3})){0,3}"
)
_HEADER: Final = r"(?i:(?:proxy-)?authorization|(?:set-)?cookie2?)s?"
_USER: Final = r"(?<![A-Za-z])(?i:user(?:name|[_-]?id)?)(?=\\?\"?=|\\?\":)"
_SIGN: Final = r"\]?\s{0,20}(?:=>|:=|==?|:)\s{0,20}"
_SCHEME: Final = r"(?:(?i:bearer|basic|digest|negotiate|ntlm|token)\s+)?"
_FOUND: Final = re.compile(
    rf"(?P<url>{URL})"
    rf"|(?P<before>{_QUOTE}?)(?P<header>{_HEADER})(?P<closed>{_QUOTE}?)(?P<sign>{_SIGN})"
    rf"|(?:{_SECRET}){_SUFFIX}{_QUOTE}?{_SIGN}|{_USER}{_QUOTE}?{_SIGN}"
    rf"|(?<![\w-])--(?=[A-Za-z])[\w.-]{{0,40}}?(?:{_SECRET}){_SUFFIX}(?:\s{{1,20}}(?!-)|{_QUOTE},?\s{{0,20}}(?={_QUOTE}))"
)
_IN_DOUBLE: Final = re.compile(rf"\"{_SCHEME}(?P<value>(?:[^\"\\]|\\.|\\$)*+)")
_IN_SINGLE: Final = re.compile(rf"'{_SCHEME}(?P<value>(?:[^'\\]|\\.|\\$|'')*+)")
_IN_ESCAPED: Final = re.compile(rf"\\\"{_SCHEME}(?P<value>(?:[^\"\\]|\\\\(?:\\.|[^\\])|\\[^\"\\])*+)")
_IN_OTHER: Final = re.compile(rf"(?P<quote>{_QUOTE}){_SCHEME}(?P<value>(?:(?!(?P=quote)).)*+)")
_IN_LIST: Final = re.compile(r"\[(?P<value>[^\]]*+)")
_BARE: Final = re.compile(rf"{_SCHEME}(?P<value>(?:[^\s\"',;&{{}}\[\]]|(?<=\\) )++)")
_COOKIES: Final = re.compile(rf"{_SCHEME}(?P<value>[^\s\"',;&]++(?:;\s?[^\s\"';]++)*+)")
_VALUES: Final = (_IN_DOUBLE, _IN_SINGLE, _IN_ESCAPED, _IN_OTHER, _IN_LIST, _BARE)
_TO_QUOTE: Final = re.compile(rf"{_SCHEME}(?P<value>(?:[^\"\\]|\\.|\\$)*+)")
_TO_END: Final = re.compile(rf"{_SCHEME}(?P<value>.*)", re.DOTALL)
_MARKS: Final = re.compile(r"\\.|\"")


def secrets(text: str) -> Iterator[tuple[int, int]]:
    """Where the values begin and end in ``text``, in their order. A URL is none, whatever is called in it."""
    at = counted = 0
    is_within = False
    while (found := _FOUND.search(text, at)) is not None:
        at = found.end()
        if found["url"] is not None:
            continue
        if found["header"] is None:
            value = _value(text, at)
        else:
            marks = _MARKS.findall(text, counted, found.start("header"))
            is_within ^= marks.count('"') % 2 == 1
            counted = found.start("header")
            value = _header(text, found, is_within)
        if value is not None and value.end() > at:
            at = value.end()
            if value["value"]:
                yield value.span("value")


def _value(text: str, at: int) -> re.Match[str] | None:
    return next((value for form in _VALUES if (value := form.match(text, at)) is not None), None)


def _header(text: str, found: re.Match[str], is_within: bool) -> re.Match[str] | None:
    """All of a header: to the end of the line, or of the string that it stands in (RFC 6265 section 4.2.1)."""
    at = found.end()
    quoted = next((value for form in _VALUES[:-1] if (value := form.match(text, at)) is not None), None)
    if quoted is not None and not text.startswith(";", quoted.end() + 1):
        return quoted
    if "=" in found["sign"]:
        return _COOKIES.match(text, at)
    if found["before"] and not found["closed"]:
        quote = re.escape(found["before"])
        inner = re.compile(rf"{_SCHEME}(?P<value>(?:(?!{quote})(?:\\.|.))*+)")
        return inner.match(text, at)
    return (_TO_QUOTE if is_within else _TO_END).match(text, at)
