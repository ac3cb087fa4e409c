"""The calls of one client between two instants, against a look at all calls."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcapnfs.analyses.asking.equal_shares import Intervals
from pcapnfs.analyses.times.client_calls import Clients
from pcapnfs.analyses.times.outstanding import Outstanding

SPAN_NS = 40

Call = tuple[int, int, int, list[tuple[int, int]]]
"""Begin, length, client and parts, as two places in the call each."""

CALLS = st.lists(
    st.tuples(
        st.integers(0, SPAN_NS),
        st.integers(0, 9),
        st.integers(0, 2),
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3),
    ),
    max_size=25,
)


def outstanding(calls: list[Call], order: list[int]) -> Outstanding:
    """Calls as columns; their parts are in the given order, as far as it goes."""
    parts = [
        (of, begin + min(*part, length), begin + min(max(part), length))
        for of, (begin, length, _, parts) in enumerate(calls)
        for part in parts
    ]
    parts = [parts[place] for place in order if place < len(parts)]

    def column(values: list[int]) -> NDArray[np.int64]:
        return np.array(values, np.int64)

    return Outstanding(
        span_ns=SPAN_NS,
        clients=("10.0.0.1", "10.0.0.2", "10.0.0.3"),
        call=column([7 * place for place in range(len(calls))]).astype(np.uint32),
        kind=column([place % 5 for place in range(len(calls))]).astype(np.uint8),
        intervals=Intervals(
            begin=column([begin for begin, *_ in calls]),
            end=column([begin + length for begin, length, *_ in calls]),
            group=column([client for _, _, client, _ in calls]).astype(np.int32),
            groups=3,
            part_of=column([of for of, _, _ in parts]).astype(np.int32),
            part_begin=column([begin for _, begin, _ in parts]),
            part_end=column([end for _, _, end in parts]),
        ),
        part_kind=column([place % 2 for place in range(len(parts))]).astype(np.uint8),
        added_ns=np.array([1.0, 2.0, 3.0]),
        placed_share=np.array([0.0, 0.5, 1.0]),
        sealed=np.array([False, True, False]),
    )


@given(CALLS, st.permutations(range(75)), st.integers(0, 50), st.integers(0, 20))
def test_of_each_client_there_is_what_falls_between_two_instants(
    calls: list[Call], order: list[int], begin_ns: int, length_ns: int
) -> None:
    found = outstanding(calls, order)
    end_ns = begin_ns + length_ns
    each, clients = found.intervals, Clients(found)
    for number, address in enumerate(found.clients):
        part = clients.client(number).within(begin_ns, end_ns)
        mine = [
            place
            for place, (begin, length, client, _) in enumerate(calls)
            if client == number and begin < end_ns and begin + length >= begin_ns
        ]
        assert part.call.tolist() == [7 * place for place in mine]
        assert part.kind.tolist() == [place % 5 for place in mine]
        assert part.intervals.begin.tolist() == [
            max(calls[place][0], begin_ns) - begin_ns for place in mine
        ]
        assert part.intervals.end.tolist() == [
            min(calls[place][0] + calls[place][1], end_ns) - begin_ns for place in mine
        ]
        parts = [
            (mine.index(of), max(begin, begin_ns) - begin_ns, min(end, end_ns) - begin_ns, kind)
            for of, begin, end, kind in zip(
                each.part_of.tolist(),
                each.part_begin.tolist(),
                each.part_end.tolist(),
                found.part_kind.tolist(),
                strict=True,
            )
            if of in mine and max(begin, begin_ns) < min(end, end_ns)
        ]
        columns = (part.intervals.part_of, part.intervals.part_begin, part.intervals.part_end)
        assert list(zip(*(c.tolist() for c in (*columns, part.part_kind)), strict=True)) == parts
        assert (part.span_ns, part.clients) == (length_ns, (address,))
        assert part.added_ns.tolist() == [number + 1.0]


@given(CALLS)
def test_a_clients_calls_are_in_order_of_their_begin(calls: list[Call]) -> None:
    clients = Clients(outstanding(calls, list(range(75))))
    for number in range(3):
        client = clients.client(number)
        mine = [place for place, call in enumerate(calls) if call[2] == number]
        assert client.places.tolist() == sorted(mine, key=lambda place: calls[place][0])
        assert client.begin.tolist() == sorted(calls[place][0] for place in mine)
        ends = [calls[place][0] + calls[place][1] for place in client.places.tolist()]
        assert client.reached.tolist() == [max(ends[: place + 1]) for place in range(len(ends))]
