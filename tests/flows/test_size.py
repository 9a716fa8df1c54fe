"""How much memory a live connection takes."""

import ssl
import tracemalloc

import pytest
from flow_support import CHANGE_CIPHER_SPEC, FINISHED, SECOND, Kept, Talk, client_hello, record, server_hello
from test_table import feed

from pcapstall.flows import flow as module
from pcapstall.flows.table import FlowTable

BEGUN = 4300
FLOWS = 8400
"""So many that the table has grown lately: it is as empty as it ever is."""


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_flow_takes_less_than_a_kilobyte_once_its_hellos_are_read(version: ssl.TLSVersion) -> None:
    if module.__file__.endswith(".py"):
        pytest.skip("interpreted objects are larger")
    table = FlowTable(Kept(), SECOND)
    sizes = []
    tracemalloc.start()
    for number in range(FLOWS):
        talk = Talk()
        talk.handshake()
        talk.client(client_hello(version) if number % 8 == 0 else HELLOS[version])
        talk.server(server_hello(0x0304 if version == ssl.TLSVersion.TLSv1_3 else 0x0303))
        talk.client(CHANGE_CIPHER_SPEC + FINISHED)
        talk.client(record(23, bytes(200)))
        talk.server(record(23, bytes(300)))
        feed(table, talk, number)
        if number + 1 in (BEGUN, FLOWS):
            for flow in table._flows.in_order():
                flow.read_hello()
            del talk, flow
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert (sizes[1] - sizes[0]) / (FLOWS - BEGUN) < 1024
    assert all(flow.settled and flow.server_hello is not None for flow in table._flows.in_order())


HELLOS = {version: client_hello(version) for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)}
