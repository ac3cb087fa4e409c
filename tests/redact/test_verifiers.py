"""What clients make up for an exclusive create is not told, nor the times in which servers keep it.

BSD and macOS put the address of their first interface into the verifier, the one as its bytes
stand, the other turned round where the processor has it so.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from pcapnfs import redaction
from pcapnfs.synth.builder import Conversation, nfs3, nfs4
from pcapnfs.synth.builder.nfs3 import Fattr3, Sattr3, Wcc, results
from pcapnfs.synth.builder.nfs4 import Compound, CompoundReply
from tests import damage
from tests.decoded import MS, T
from tests.redact.compare import differences
from tests.redact.test_samples import KEY

S = 1_000_000_000

ADDRESS = bytes([10, 93, 177, 82])
"""Of the client's first interface: not the one that it mounts by."""

WORDS = [pytest.param(ADDRESS, id="BSD"), pytest.param(ADDRESS[::-1], id="macOS")]

DIRECTORY, FILE = b"directory", b"new file"


def kept(word: bytes, order: str) -> int:
    """The time in which a server keeps it, in ns: without the highest bit, as Linux has it."""
    seconds = int.from_bytes(word, "big" if order == ">" else "little")
    return (seconds & 0x7FFFFFFF) * S


def v3(word: bytes, order: str) -> Conversation:
    """Two files of which the first is looked at before its times are set."""
    told = Fattr3(fileid=5, atime_ns=S, mtime_ns=kept(word, order), ctime_ns=T)
    done = Fattr3(fileid=5, atime_ns=T, mtime_ns=T, ctime_ns=T + MS)
    talk = Conversation()
    for number, (request, answer) in enumerate(
        (
            (
                nfs3.create_exclusive(DIRECTORY, "a", word + bytes([0, 0, 0, 1])),
                results.create(FILE, told),
            ),
            (nfs3.getattr_(FILE), results.getattr_(told)),
            (
                nfs3.setattr_(FILE, Sattr3(mode=0o600, atime="server", mtime="server")),
                results.setattr_(Wcc(told, done)),
            ),
            (nfs3.getattr_(FILE), results.getattr_(done)),
            (
                nfs3.create_exclusive(DIRECTORY, "b", word + bytes([0, 0, 0, 2])),
                results.create(b"other", Fattr3(fileid=6, mtime_ns=kept(word, order), ctime_ns=T)),
            ),
        )
    ):
        talk.call(number, T + 2 * number * MS, *request)
        talk.reply(number, T + 2 * number * MS + MS, answer)
    return talk


def v4(word: bytes, order: str, minor: int) -> Conversation:
    """A client makes itself known with a verifier like that, and creates a file."""
    mode = nfs4.types.EXCLUSIVE4_1 if minor else nfs4.types.EXCLUSIVE4
    verifier = word + bytes([0, 0, 0, 1])
    call, reply = Compound(minor), CompoundReply()
    if minor:
        begun = call.exchange_id("me", verifier), reply.exchange_id()
    else:
        begun = call.setclientid("me", verifier), reply.setclientid()
    made = Compound(minor).putfh(DIRECTORY)
    made = made.open_create("a", {"mode": 0o600} if minor else None, mode, verifier)
    made = made.getfh().getattr(["change", "time_modify"])
    told = {"change": 7, "time_modify": kept(word, order)}
    answer = CompoundReply().putfh().open().getfh(FILE).getattr(told)
    talk = Conversation()
    for number, (request, answered) in enumerate((begun, (made, answer))):
        talk.call(number, T + 2 * number * MS, *request.request())
        talk.reply(number, T + 2 * number * MS + MS, answered.body())
    return talk


@pytest.mark.parametrize("order", [">", "<"])
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("version", ["3", "4.0", "4.1"])
def test_neither_a_verifier_nor_a_time_tells_the_address(
    version: str, word: bytes, order: str, tmp_path: Path
) -> None:
    talk = v3(word, order) if version == "3" else v4(word, order, int(version[2:]))
    original = talk.capture().write(tmp_path / "original.pcap")
    redacted = tmp_path / "redacted.pcap"
    told = redaction.redact(original, redacted, key=KEY)
    # The order in which a processor has its bytes, and the bit that a server clears.
    seconds = struct.pack(">I", kept(word, order) // S)
    assert word in original.read_bytes()
    assert seconds in original.read_bytes()
    written = redacted.read_bytes()
    assert [part for part in (ADDRESS, ADDRESS[::-1], seconds) if part in written] == []
    assert told.replaced["verifiers"] == 2
    assert told.replaced["times"] == (4 if version == "3" else 1)
    assert differences(original, redacted) == []


def test_times_stay_that_are_none_of_a_verifier(tmp_path: Path) -> None:
    """Files that are not made exclusively, and what the server's clock says of one that is."""
    original = v3(ADDRESS, ">").capture().write(tmp_path / "original.pcap")
    redaction.redact(original, tmp_path / "redacted.pcap", key=KEY)
    query = "SELECT ctime, mtime FROM operations WHERE op = 'GETATTR' ORDER BY call"
    (first, second), (one, two) = (
        damage.rows(path, query) for path in (original, tmp_path / "redacted.pcap")
    )
    assert two == (T + MS, T) == second
    assert one[0] == first[0] == T
    assert one[1] != first[1]
