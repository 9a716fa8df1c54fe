import signal

import pytest
from factories import alerted, flow, refused, silent_client, slow_server
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.errors import UsageError
from pcapstall.core.times import SECOND
from pcapstall.report.columns import COUNT, FLOW_COLUMNS, Column
from pcapstall.report.expression import ExpressionError
from pcapstall.report.filter import compile_filter, compile_filter_over

FLOWS = {"silent": silent_client(), "slow": slow_server(), "refused": refused(), "alerted": alerted(), "fine": flow(1)}


def passing(text):
    test = compile_filter(text)
    return {name for name, one in FLOWS.items() if test(one)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ack_ch > 1s", {"silent"}),
        ("ack_ch > 1 s", {"silent"}),
        ("ack_ch>1000ms", {"silent"}),
        ("ack_ch <= 1.3ms", {"alerted", "fine"}),
        ("ack_ch = 2ms", {"slow"}),
        ("ack_ch != 2ms", {"silent", "alerted", "fine"}),
        ("ch_fin < 0s", {"silent"}),
        ("ch_fin < -1s", {"silent"}),
        ("ack_ch > 1s and sni ~ 'api'", set()),
        ("sni ~ 'api'", {"slow"}),
        ("sni ~ API", {"slow"}),
        ("sni ~ '^old\\.'", {"alerted"}),
        ("sni !~ 'api'", {"alerted"}),
        ("sni = OLD.example.com", {"alerted"}),
        ("sni != old.example.com", {"slow"}),
        ("sni = null", {"silent", "refused", "fine"}),
        ("sni != null", {"slow", "alerted"}),
        ("not sni != null", {"silent", "refused", "fine"}),
        ("tls_outcome != established", {"silent", "slow", "alerted"}),
        ("tls_outcome = null", {"refused"}),
        ("server = 10.0.0.0/8", {"silent", "slow", "alerted", "fine"}),
        ("server = 2001:db8::/32", {"refused"}),
        ("server = [2001:db8:40:42::129]:8087", {"refused"}),
        ("server = [2001:db8:40:42::129]", {"refused"}),
        ("server = [2001:0db8:40:42:0::129]:8087", {"refused"}),
        ("server = :8087", {"refused"}),
        ("server_port = 8087", {"refused"}),
        ("server != 10.40.42.129", {"refused"}),
        ("server ~ '8086$'", {"silent", "slow", "alerted", "fine"}),
        ("client = 10.40.39.45:34506", {"silent"}),
        ("client in (10.40.39.45:34506, 2001:db8::/32)", {"silent", "refused"}),
        ("client not in (10.40.39.45:34506, 2001:db8::/32)", {"slow", "alerted", "fine"}),
        ("stalled", {"silent", "slow"}),
        ("not stalled", {"refused", "alerted", "fine"}),
        ("failed", {"silent", "refused", "alerted"}),
        ("failed = false", {"slow", "fine"}),
        ("failed != false", {"silent", "refused", "alerted"}),
        ("stalled = ch_sh", {"slow"}),
        ("stalled in (ack_ch, ch_sh)", {"silent", "slow"}),
        ("stalled_ns > 5s", {"silent"}),
        ("stalled and failed", {"silent"}),
        ("stalled or failed and id = 9", {"silent", "slow", "refused"}),
        ("(stalled or failed) and id = 9", {"refused"}),
        ("not (stalled or failed)", {"fine"}),
        ("NOT stalled AND failed", {"refused", "alerted"}),
        ("stalled && !failed || id == 1", {"slow", "fine"}),
        ("flags = late_hello", {"silent"}),
        ("flags ~ capture", {"slow"}),
        ("flags = null", {"refused", "alerted", "fine"}),
        ("flags != late_hello", {"slow"}),
        ("open = ch_sh", {"slow"}),
        ("alerts = protocol_version", {"alerted"}),
        ("id in (1, 9)", {"refused", "fine"}),
        ("cause = 'client_process'", {"silent"}),
        ("verdict ~ 'its timer'", {"silent"}),
        ("resumed", set()),
        ("not resumed", set(FLOWS)),
    ],
)
def test_filters(text, expected):
    assert passing(text) == expected


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("ch_sh > 4s", True),
        ("ch_sh >= 4500ms", True),
        ("ch_sh > 4500ms", False),
        ("ch_sh > 5s", False),
        ("ch_sh < 5s", False),
        ("ch_sh < 1s", False),
        ("ch_sh = 4500ms", False),
        ("ch_sh != 1s", True),
        ("ch_sh != 5s", False),
        ("ch_sh in (4500ms)", False),
        ("ch_sh = null", False),
        ("ch_sh != null", True),
    ],
)
def test_an_open_interval_passes_only_what_holds_whatever_its_end(text, passes):
    assert compile_filter(text)(slow_server()) is passes


def test_strings_have_quotes_of_either_kind_and_keep_backslashes():
    assert compile_filter(r"sni ~ 'd\.example\.com'")(alerted())
    assert compile_filter(r'sni ~ "\Aold"')(alerted())
    assert compile_filter(r"verdict = 'it\'s'")(flow(verdict="it's"))


def test_the_columns_used_are_known():
    assert compile_filter("ack_ch > 1s and (sni ~ 'a' or not stalled)").columns_used == {"ack_ch", "sni", "stalled"}


@pytest.mark.parametrize(
    ("text", "said", "place"),
    [
        ("ackch > 1s", "there is no column 'ackch'; did you mean ack_ch?", "ackch"),
        ("stalled and foo", "there is no column 'foo'; some are", "foo"),
        ("ack_ch > 1", "a duration and needs a unit: 1ms or 1s", "1"),
        ("ack_ch > 1.5", "needs a unit: 1.5s or 1.5ms", "1.5"),
        ("ack_ch > 'long'", "'long' is none: write 500ms", "'long'"),
        ("ack_ch ~ 1s", "does not go with it: ack_ch > 1s", "~"),
        ("sni > 1s", "sni is a text, '>' does not go with it", ">"),
        ("id = 1s", "id is a whole number", "1s"),
        ("ack_ch > \u0661s", "ack_ch is a duration, '\u0661s' is none: write 500ms or 1s", "\u0661s"),
        ("id = \u0661", "id is a whole number, '\u0661' is none", "\u0661"),
        ("server = :\u0664\u0664\u0663", "is not a port", ":\u0664\u0664\u0663"),
        ("id = 1111111111111111111111", "id is a whole number", "1111111111111111111111"),
        ("server = 10.0.0/8", "'10.0.0/8' is not an address or network", "10.0.0/8"),
        ("server = 10.0.0.1:99999", "'99999' is not a port", "10.0.0.1:99999"),
        ("server = 443", "'443' is not an address", "443"),
        ("server = [::1", "is not an endpoint", "[::1"),
        ("tls_outcome = establishd", "tls_outcome is never 'establishd'; did you mean established?", "establishd"),
        ("side = x", "it is one of client, server, network", "x"),
        ("resumed = maybe", "resumed is true or false", "maybe"),
        ("sni ~ '['", "not a regular expression", "'['"),
        ("sni ~ '(?u)(?a)x'", "not a regular expression", "'(?u)(?a)x'"),
        ("sni ~ 'x", "does not end", "'x"),
        ("sni ~ 'x\\'", "does not end", "'x\\'"),
        ("(stalled", "')' is missing for the '(' at 1", ""),
        ("stalled)", "')' is one too many", ")"),
        ("stalled failed", "'failed' is one too many: join conditions with 'and'", "failed"),
        ("sni", "sni needs an operator", ""),
        ("", "a condition is missing here", ""),
        ("stalled and", "a condition is missing here", ""),
        ("ack_ch >", "a value is missing here: ack_ch > 1s", ""),
        ("ack_ch > > 1s", "a value belongs here, not '>'", ">"),
        ("and stalled", "a column belongs here, not 'and'", "and"),
        ("'sni' = x", "without quotes: sni", "'sni'"),
        ("id in 3", "wants a list in parentheses", "3"),
        ("id in (3", "ends with ')'", ""),
        ("id in ()", "a value belongs here", ")"),
        ("sni ~ null", "null goes with = and != only", "null"),
        ("sni not ~ x", "'not in'", "not"),
        ("sni = a@b", "'@' means nothing here; quote", "@"),
        ("not " * 80 + "stalled", "more than 64 levels", "not"),
        ("(" * 5000, "more than 64 levels", "("),
    ],
)
def test_errors_say_what_is_wrong_and_point_at_the_place(text, said, place):
    with pytest.raises(ExpressionError) as caught:
        compile_filter(text)
    message, shown, carets = str(caught.value).split("\n")
    assert said in message
    assert shown == "  " + text
    start = carets.index("^")
    assert carets.strip() == "^" * max(len(place), 1)
    assert shown[start : start + len(place)] == place
    assert isinstance(caught.value, UsageError)


def test_an_error_shows_no_control_characters_and_keeps_its_caret_in_place():
    with pytest.raises(ExpressionError) as caught:
        compile_filter("sni = '\x1b[31m日' and \x9b = 1")
    _, shown, carets = str(caught.value).split("\n")
    assert shown == "  sni = '?[31m日' and ? = 1"
    assert carets.index("^") == len("  sni = '?[31m") + 2 + len("' and ")


@given(st.text(alphabet="ack_ch>1s msni~'()=!<&|,.:/[]\"\\0nullotrdein", max_size=40))
def test_any_text_is_a_filter_or_an_error_with_a_caret(text):
    said = ""
    try:
        test = compile_filter(text)
    except ExpressionError as error:
        said = str(error)
    if said:
        assert said.endswith("^")
    else:
        assert all(test(one) in (True, False) for one in FLOWS.values())


@pytest.mark.parametrize("name", FLOW_COLUMNS)
def test_every_column_can_be_read_and_filtered_by(name):
    column = FLOW_COLUMNS[name]
    value = column.get(silent_client())
    assert compile_filter(f"{name} = null")(silent_client()) is (value is None or value == [])


def test_a_filter_works_over_other_columns():
    even = compile_filter_over("size > 3", {"size": Column(COUNT, len)})
    assert even("long")
    assert not even("no")
    with pytest.raises(ExpressionError, match="no column 'ack_ch'"):
        compile_filter_over("ack_ch > 1s", {"size": Column(COUNT, len)})


def test_seconds_are_seconds():
    assert compile_filter("ack_ch = 1m")(flow(intervals={"ack_ch": 60 * SECOND}))


def test_a_timer_of_the_program_goes_on_as_does_its_handler() -> None:
    """Of a program that calls `pcapstall.analyze`."""

    def own(*_: object) -> None:
        """Whatever it does with its own time."""

    before = signal.signal(signal.SIGVTALRM, own)
    try:
        assert passing("sni ~ 'api'") == {"slow"}
        assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
        assert signal.getsignal(signal.SIGVTALRM) is own
        signal.setitimer(signal.ITIMER_VIRTUAL, 1000, 500)
        assert passing("sni ~ 'api'") == {"slow"}
        left, interval = signal.getitimer(signal.ITIMER_VIRTUAL)
        assert left > 900
        assert interval == 500
        assert signal.getsignal(signal.SIGVTALRM) is own
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_a_handler_that_is_not_of_python_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the handler could not be put back")

    monkeypatch.setattr(signal, "getsignal", lambda _: None)
    monkeypatch.setattr(signal, "signal", refuse)
    assert passing("sni ~ 'api'") == {"slow"}
