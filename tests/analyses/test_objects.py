"""What the objects of calls are, as arrays."""

from __future__ import annotations

import numpy as np

from pcapnfs.analyses.asking.objects import NO_FILE, objects
from tests.unit.rows import file, trace_of


def test_each_number_leads_to_its_object_and_kind() -> None:
    files = [
        file(1, ".", role="directory"),
        file(2, "a"),
        file(4, "a", identity=2),
        file(5, "gone", role="absent"),
    ]
    with trace_of(files=files) as trace:
        known = objects(trace, np.array([NO_FILE]))
    assert known.identity.tolist() == [0, 1, 2, 3, 2, 5, NO_FILE]
    assert known.regular.tolist() == [False, False, True, False, True, False, False]
    assert known.directory.tolist() == [False, True, False, False, False, False, False]


def test_an_object_that_no_table_knows_stands_for_itself() -> None:
    with trace_of() as trace:
        known = objects(trace, np.array([2, NO_FILE]))
    assert known.identity.tolist() == [0, 1, 2, NO_FILE]
    assert not known.regular[NO_FILE]
    assert not known.directory[NO_FILE]
