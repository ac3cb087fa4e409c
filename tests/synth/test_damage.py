"""Each kind of damage does what its name says, and nothing else."""

from collections.abc import Callable

import pytest

from pcapnfs.synth.builder import Capture, Conversation, damage, nfs3

START = 1_500_000_000_000_000_000
FH = bytes(32)


@pytest.fixture
def capture() -> Capture:
    """Frames 1 to 3 a WRITE call, 4 its reply, 5 and 6 a GETATTR; a microsecond and more apart."""
    conversation = Conversation()
    conversation.call(1, START, *nfs3.write(FH, 0, bytes(3000)))
    conversation.reply(1, START + 10_000, nfs3.results.write(3000))
    conversation.call(2, START + 20_000, *nfs3.getattr_(FH))
    conversation.reply(2, START + 30_000, nfs3.results.getattr_())
    return conversation.capture()


def _times(capture: Capture) -> list[int]:
    return [frame.time_ns - START for frame in capture.frames]


def test_drop_and_cut(capture: Capture) -> None:
    kept = damage.drop(capture, damage.frames(2, 5))
    assert kept.frames == tuple(capture.frames[index] for index in (0, 2, 3, 5))
    assert damage.cut_start(capture, 2).frames == capture.frames[2:]
    assert damage.cut_end(capture, 2).frames == capture.frames[:4]
    assert len(damage.cut_end(capture, 99)) == 0


def test_random_choices_depend_on_the_seed_only(capture: Capture) -> None:
    def left(seed: int) -> list[int]:
        return _times(damage.drop(capture, damage.at_random(0.5, seed)))

    assert left(1) == left(1)
    assert any(left(seed) != left(1) for seed in range(2, 9))
    assert damage.drop(capture, damage.at_random(0.0, 1)) == capture
    assert len(damage.drop(capture, damage.at_random(1.0, 1))) == 0


def test_snap_twice_remembers_the_wire(capture: Capture) -> None:
    cut = damage.snap(damage.snap(capture, 200), 80)
    assert [frame.wire_length for frame in cut.frames] == [len(f.data) for f in capture.frames]
    assert [frame.data for frame in cut.frames] == [frame.data[:80] for frame in capture.frames]


def test_duplicate_delay_swap(capture: Capture) -> None:
    twice = damage.duplicate(capture, damage.frames(4), after_ns=15_000)
    assert _times(twice) == [0, 1_000, 2_000, 10_000, 20_000, 25_000, 30_000]
    assert twice.frames[5].data == capture.frames[3].data
    late = damage.delay(capture, damage.frames(1), 1_500)
    assert [frame.data for frame in late.frames[:3]] == [
        capture.frames[index].data for index in (1, 0, 2)
    ]
    assert _times(late)[:3] == [1_000, 1_500, 2_000]
    swapped = damage.swap(capture, 1)
    assert _times(swapped) == _times(capture)
    assert swapped.frames[0].data == capture.frames[1].data
    assert damage.swap(swapped, 1) == capture


def test_split_and_merge_are_inverse(capture: Capture) -> None:
    pieces = damage.split(capture, 1, 100)
    first, second = pieces.frames[0].packet, pieces.frames[1].packet
    original = capture.frames[0].packet
    assert first is not None
    assert second is not None
    assert original is not None
    assert (len(first.payload), second.seq) == (100, original.seq + 100)
    assert first.payload + second.payload == original.payload
    assert damage.merge(pieces, 1) == capture
    whole = damage.merge(damage.merge(capture, 1), 1).frames[0]
    assert len(whole.data) > 3000


def test_flip(capture: Capture) -> None:
    broken = damage.flip(capture, 5, 60, 0x01)
    changed = [
        (number, offset)
        for number, (one, other) in enumerate(
            zip(broken.frames, capture.frames, strict=True), start=1
        )
        for offset, (a, b) in enumerate(zip(one.data, other.data, strict=True))
        if a != b
    ]
    assert changed == [(5, 60)]
    assert damage.flip(broken, 5, 60, 0x01).frames[4].data == capture.frames[4].data
    once = damage.flip_at_random(capture, 20, seed=3, skip=54)
    assert once == damage.flip_at_random(capture, 20, seed=3, skip=54)
    assert [frame.data[:54] for frame in once.frames] == [f.data[:54] for f in capture.frames]
    assert once != capture


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda c: damage.swap(c, 6), "no frame 6"),
        (lambda c: damage.flip(c, 0, 0), "no frame 0"),
        (lambda c: damage.split(c, 5, 5000), "bytes of payload"),
        (lambda c: damage.merge(c, 3), "does not continue"),
        (lambda c: damage.split(damage.snap(c, 60), 1, 5), "not a whole TCP segment"),
        (lambda c: damage.flip_at_random(c, 1, 1, skip=9999), "no frame is longer"),
    ],
)
def test_what_cannot_be_broken(
    wrong: Callable[[Capture], Capture], message: str, capture: Capture
) -> None:
    with pytest.raises(ValueError, match=message):
        wrong(capture)
