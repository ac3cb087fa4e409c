"""What the rules judge by holds answers, each of its own question."""

from __future__ import annotations

from pcapnfs.diagnosis.material import QUESTIONS, READS, Question
from pcapnfs.record import values
from tests.diagnosis.material import nothing


def test_each_question_is_answered() -> None:
    assert QUESTIONS
    assert not [value for value in values(nothing()) if isinstance(value, Question)]


def test_what_a_question_reads_is_decoded() -> None:
    for name, asked in QUESTIONS.items():
        for table, columns in asked.reads.items():
            assert columns <= READS[table], name


def test_a_question_names_the_columns_of_its_own_module() -> None:
    for name, asked in QUESTIONS.items():
        module = __import__(asked.function.__module__, fromlist=["READS"])
        assert asked.reads is module.READS, name
