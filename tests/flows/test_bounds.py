"""What keeps the table of flows bounded and right on captures that nobody would take on purpose."""

import pytest
from flow_support import ACK, FIN, RST, SECOND, SYN, Kept, Packet, Talk, only, run
from test_table import Forgetful, feed, key_of, probe

from pcapstall.flows.flow import FLAG_CLOSED_EARLY
from pcapstall.flows.table import FlowTable

YEAR = 366 * 86_400 * SECOND


def syn(number: int, ns: int = 0) -> Talk:
    talk = Talk()
    talk.ns += ns
    talk.client(flags=SYN)
    return talk


class TestMaxFlows:
    def test_a_flood_of_syns_stays_within_the_bound(self) -> None:
        sink = Kept()
        table = FlowTable(sink, SECOND, max_flows=100)
        most = 0
        for number in range(2000):
            feed(table, syn(number, number * 1000), number)
            most = max(most, len(table))
        assert most <= 100
        table.finish()
        assert len(sink.flows) == 2000
        assert table.limits.closed_early == sum(bool(flow.flags & FLAG_CLOSED_EARLY) for flow in sink.flows) > 1800

    def test_the_longest_idle_goes_first(self) -> None:
        sink = Kept()
        table = FlowTable(sink, SECOND, max_flows=10)
        for number in range(10):
            feed(table, syn(number, number * SECOND), number)
        feed(table, syn(0, 20 * SECOND), 0)
        feed(table, syn(77, 21 * SECOND), 77)
        assert [flow.key for flow in sink.flows] == [key_of(1, True)]

    @pytest.mark.parametrize("stamp", [0, 1])
    def test_one_wrong_stamp_does_not_make_the_busiest_the_longest_idle(self, stamp: int) -> None:
        sink = Kept()
        table = FlowTable(sink, SECOND, max_flows=10)
        for number in range(10):
            feed(table, syn(number, number * SECOND), number)
        feed(table, syn(0, 20 * SECOND), 0)
        wrong = syn(77)
        wrong.packets[0].ns = stamp
        feed(table, wrong, 77)
        assert [flow.key for flow in sink.flows] == [key_of(1, True)]

    def test_what_is_done_goes_before_what_is_not(self) -> None:
        sink = Kept()
        table = FlowTable(sink, SECOND, max_flows=10)
        for number in range(9):
            feed(table, syn(number), number)
        done = probe()
        feed(table, done, 50)
        feed(table, syn(77, 21 * SECOND), 77)
        assert [flow.key for flow in sink.flows] == [key_of(50, True)]
        assert table.limits.closed_early == 0

    def test_steps_for_each_flow_of_a_flood_do_not_grow_with_the_table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from pcapstall.flows import table as module

        looked_at = 0
        choose = module.longest_idle

        def counting(flows, now_ns):  # type: ignore[no-untyped-def]
            nonlocal looked_at
            looked_at += 2 * len(flows)
            return choose(flows, now_ns)

        monkeypatch.setattr(module, "longest_idle", counting)
        if module.longest_idle is not counting or not module.__file__.endswith(".py"):
            pytest.skip("the compiled table calls its own")
        for most in 50, 800:
            looked_at = 0
            table = FlowTable(Kept(), SECOND, max_flows=most)
            for number in range(5 * most):
                feed(table, syn(number, number * 1000), number)
            assert looked_at <= 40 * 5 * most

    def test_half_open_flows_expire_and_idle_connections_do_not(self) -> None:
        sink = Kept()
        table = FlowTable(sink, SECOND)
        feed(table, syn(1), 1)
        idle = Talk()
        idle.handshake()
        feed(table, idle, 2)
        table.expire(idle.ns + 100 * SECOND)
        assert len(table) == 2
        table.expire(idle.ns + 400 * SECOND)
        assert [flow.key for flow in sink.flows] == [key_of(1, True)]
        assert sink.flows[0].closed_ns == idle.ns + 400 * SECOND
        assert table.limits.closed_early == 0

    def test_graves_are_bounded(self) -> None:
        table = FlowTable(Forgetful(), SECOND, max_flows=20)
        for number in range(200):
            feed(table, probe(), number)
            if number % 10 == 9:
                table.expire(probe().ns + 2 * SECOND)
        assert len(table) == 0
        assert len(table._graves) <= 20


class TestSuccessors:
    """Another connection between the same ports, of which the beginning was not captured."""

    @staticmethod
    def buried() -> tuple[FlowTable, Talk]:
        table = FlowTable(Forgetful(), SECOND)
        talk = probe()
        feed(table, talk, 1)
        table.expire(talk.ns + 2 * SECOND)
        assert len(table) == 0
        return table, talk

    def later(self, talk: Talk, client_isn: int, server_isn: int) -> Talk:
        again = Talk(client_isn, server_isn)
        again.ns = talk.ns + 3 * SECOND
        return again

    @pytest.mark.parametrize("flags", [SYN | ACK, ACK])
    def test_of_a_buried_flow_is_a_flow(self, flags: int) -> None:
        table, talk = self.buried()
        again = self.later(talk, 70_000_000, 90_000_000)
        again.server(b"" if flags & SYN else b"data", flags=flags)
        feed(table, again, 1)
        assert len(table) == 1

    def test_stragglers_are_none(self) -> None:
        table, talk = self.buried()
        again = self.later(talk, talk.client_isn, talk.server_isn)
        again.server(flags=SYN | ACK)
        again.client()
        again.server(flags=FIN | ACK)
        again.server(flags=RST)
        feed(table, again, 1)
        assert len(table) == 0

    def test_what_goes_on_behind_a_forgotten_reset_is_a_flow(self) -> None:
        table = FlowTable(Forgetful(), SECOND)
        talk = Talk()
        talk.handshake()
        talk.client(b"question")
        talk.server(flags=RST)
        feed(table, talk, 1)
        table.expire(talk.ns + 2 * SECOND)
        talk.packets.clear()
        talk.client(b"more", after=3 * SECOND)
        feed(table, talk, 1)
        assert len(table) == 1

    def test_a_syn_ack_on_a_closed_flow_begins_another(self) -> None:
        talk = probe()
        again = self.later(talk, 70_000_000, 90_000_000)
        again.server(flags=SYN | ACK)
        again.client()
        first, second = run(talk.packets + again.packets)
        assert (first.syn_ack_retries, second.direction_source) == (0, "syn_ack")
        assert second.opener is second.server()

    def test_another_answer_to_the_same_syn_begins_none(self) -> None:
        """The client reset what one server of an address answered; then another one answers the same SYN."""
        talk = Talk()
        talk.client(flags=SYN)
        talk.server(flags=SYN | ACK)
        talk.client(flags=RST)
        other = talk.server(flags=SYN | ACK)
        other.seq, other.ack = 77_000, talk.client_isn + 1
        assert len(run(talk.packets)) == 1


class TestTime:
    """One stamp far in the future: nothing waits for that time, and nothing ends for it."""

    def test_flows_behind_one_from_the_future_are_forgotten(self) -> None:
        sink = Forgetful()
        table = FlowTable(sink, SECOND)
        ahead = probe()
        for packet in ahead.packets:
            packet.ns += YEAR
        feed(table, ahead, 1)
        feed(table, probe(), 2)
        now = probe().ns + 2 * SECOND
        for step in range(4):
            table.expire(now + step * 2 * SECOND)
        assert (len(table), sink.forgotten) == (0, 2)

    def test_kept_flows_behind_one_from_the_future_are_handed_on(self) -> None:
        sink = Kept()
        table = FlowTable(sink, SECOND)
        ahead = probe()
        ahead.packets[-1].ns += YEAR
        feed(table, ahead, 1)
        feed(table, probe(), 2)
        for step in range(1, 300, 10):
            table.expire(probe().ns + step * SECOND)
        assert len(sink.flows) == 2

    def test_graves_from_the_future_are_levelled(self) -> None:
        table = FlowTable(Forgetful(), SECOND)
        feed(table, probe(), 1)
        table.expire(probe().ns + YEAR)
        assert len(table._graves) == 1
        table.expire(probe().ns + SECOND)
        assert len(table._graves) == 0

    def test_graves_are_found_and_levelled_in_their_order_whenever_one_is_looked_for(self) -> None:
        """Those of the first ten have been looked at when the others are dug."""
        table = FlowTable(Forgetful(), SECOND)
        straggler = Talk()
        straggler.handshake()
        straggler.client(flags=FIN | ACK)
        del straggler.packets[:-1]
        for number in range(20):
            feed(table, probe(), number)
            if number % 10 == 9:
                table.expire(probe().ns + (number + 1) * SECOND)
                feed(table, straggler, 3)
                assert (len(table), len(table._graves)) == (0, number + 1)
        table.expire(probe().ns + 135 * SECOND)
        assert len(table._graves) == 10
        feed(table, straggler, 13)
        assert len(table) == 0
        table.expire(probe().ns + 145 * SECOND)
        assert len(table._graves) == 0
        feed(table, straggler, 13)
        assert len(table) == 1


class TestResets:
    def test_outside_the_window_is_no_close(self) -> None:
        talk = Talk()
        talk.handshake()
        talk.client(b"question")
        talk.server(b"answer")
        talk.client()
        blind = talk.server(flags=RST)
        blind.seq += 1 << 27
        talk.client(b"again")
        assert only(talk.packets).server().rst_ref == 0
        blind.seq = talk.server_isn + 1
        assert only(talk.packets).server().rst_ref == 0
        blind.seq = talk.server_isn + 7
        assert only(talk.packets).server().rst_ref == 7

    def test_that_its_sender_goes_on_behind_is_no_close(self) -> None:
        talk = Talk()
        talk.handshake()
        talk.client(b"question")
        talk.server(flags=RST)
        reset = len(talk.packets)
        talk.server(b"answer")
        flow = only(talk.packets)
        assert flow.server().rst_ref == reset
        talk.client(b"thanks")
        flow = only(talk.packets)
        assert (flow.server().rst_ref, flow.server().rst_ns) == (0, 0)

    @pytest.mark.parametrize("expire", [False, True])
    def test_a_later_one_that_closes_is_not_forgotten_with_it(self, expire: bool) -> None:
        sink = Kept()
        table = FlowTable(sink, SECOND)
        talk = Talk()
        talk.handshake()
        talk.client(b"question")
        talk.server(flags=RST)
        talk.server(b"answer")
        talk.client(b"thanks")
        real = talk.server(flags=RST, after=5 * SECOND)
        talk.server(flags=RST, after=SECOND)
        feed(table, talk, 1)
        if expire:
            table.expire(talk.ns + 5 * SECOND)
        table.finish()
        (flow,) = sink.flows
        assert (flow.server().rst_ref, flow.server().rst_ns) == (8, real.ns)
        assert flow.client().rst_ref == 0

    def test_bytes_of_another_connection_take_nothing_back(self) -> None:
        talk = Talk()
        talk.handshake()
        talk.client(b"question")
        talk.server(flags=RST)
        reset = len(talk.packets)
        talk.seq[False] += 50_000_000
        talk.server(b"answer")
        talk.client(b"thanks")
        assert only(talk.packets).server().rst_ref == reset

    def test_such_a_flow_is_not_forgotten(self) -> None:
        sink = Forgetful()
        table = FlowTable(sink, SECOND)
        talk = Talk()
        talk.handshake()
        talk.server(flags=RST)
        talk.server(b"answer")
        talk.client()
        feed(table, talk, 1)
        table.expire(talk.ns + 5 * SECOND)
        assert (len(table), sink.forgotten) == (1, 0)
        talk.packets = []
        talk.close()
        feed(table, talk, 1)
        table.expire(talk.ns + 5 * SECOND)
        assert (len(table), sink.forgotten) == (0, 1)

    def test_data_on_its_way_when_the_reset_came_takes_nothing_back(self) -> None:
        talk = Talk()
        talk.handshake()
        talk.server(b"answer")
        talk.server(flags=RST)
        talk.client()
        assert only(talk.packets).server().rst_ref == 5


class TestAbsurdAcks:
    def hello(self) -> tuple[Talk, Packet]:
        from flow_support import client_hello

        talk = Talk()
        talk.handshake()
        talk.client(client_hello())
        return talk, talk.server()

    @pytest.mark.parametrize("beyond", [100_000, 1 << 20, 1 << 30])
    def test_far_beyond_what_was_sent_acknowledges_no_hello(self, beyond: int) -> None:
        talk, ack = self.hello()
        ack.ack += beyond
        assert only(talk.packets).client_hello_acked_ref == 0
        talk.server()
        assert only(talk.packets).client_hello_acked_ref == 6

    def test_a_little_beyond_is_what_the_capture_missed(self) -> None:
        talk, ack = self.hello()
        ack.ack += 1400
        assert only(talk.packets).client_hello_acked_ref == 5
