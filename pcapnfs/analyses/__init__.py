"""One question per file: a function from a trace to a frozen result.

An analysis reads the trace's tables in SQL and fills records. It touches no file, clock or
screen, and imports neither views nor the decoder. Every field says what it means, its unit, and
when it is None.

Each folder says in one sentence what its questions are about; `asking` has none of its own, but
what the others share.
"""
