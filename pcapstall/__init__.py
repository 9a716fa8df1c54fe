"""pcapstall explains TLS stalls: which step of a connection was late, and whose time it was.

The packages are a ladder (docs/decisions/0002-ladder.md), each imports only what stands below it. Importing this one
loads nothing: `analyze` is the way in from Python, `pcapstall.cli` the command line.
"""

__version__ = "0.1.0"
__all__ = ("__version__", "analyze")

TYPE_CHECKING = False  # typing itself would be an import
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from pcapstall.report.model import Report


def analyze(
    captures: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    *,
    straces: "Iterable[str | PathLike[str]]" = (),
    logs: "Iterable[str | PathLike[str]]" = (),
    slow: "Iterable[str]" = (),
    at: str = "",
    tls_ports: "Iterable[int]" = (),
    max_flows: int | None = None,
    filter_text: str | None = None,
) -> "Report":
    """The report of ``captures``: one file, several of one ring in any order, or glob patterns, read as one.

    ``straces`` and ``logs`` are of either end (``"outbound=FILE"`` gives one a label); ``slow`` is what `--slow` takes
    (``["ch_ack=200ms"]``); ``at`` is ``client`` or ``server`` when you know where the capture was taken; ``tls_ports``
    are server ports that speak TLS though no ClientHello to them was seen; ``max_flows`` is how many are followed at
    once; ``filter_text`` narrows the flows, as `--filter` does.

    `Report.flows` has every flow, healthy or not, in a list. Raises `pcapstall.core.errors.InputError` when a file
    cannot be read, and `UsageError` for arguments that mean nothing; both are `PcapstallError`.
    """
    from importlib import import_module

    # By its name: a type checker that reads this file, as every build does, need not read half of the package.
    report: Report = import_module("pcapstall.pipeline.api").analyze(
        captures,
        straces=straces,
        logs=logs,
        slow=slow,
        at=at,
        tls_ports=tls_ports,
        max_flows=max_flows,
        filter_text=filter_text,
    )
    return report
