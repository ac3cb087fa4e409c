"""The published tables, line by line, in the eyes of tshark."""

from pathlib import Path

import pytest

from pcapnfs.synth.builder import Capture
from pcapnfs.synth.published import nfsv3_sizes, nfsv3_tar, nfsv41_tar
from tests.synth.tshark import assert_clean, fields, written

TAR3 = """
0.000000 194 V3 LOOKUP Call, DH: 0xad487762/singlefile
0.000178 186 V3 LOOKUP Reply (Call In 1) Error: NFS3ERR_NOENT
0.000438 178 V3 GETATTR Call, FH: 0xad487762
0.000490 182 V3 GETATTR Reply (Call In 3) Directory mode: 0777 uid: 0 gid: 0
0.000732 226 V3 MKDIR Call, DH: 0xad487762/singlefile
0.004162 342 V3 MKDIR Reply (Call In 5)
0.004465 178 V3 GETATTR Call, FH: 0xad487762
0.004518 182 V3 GETATTR Reply (Call In 7) Directory mode: 0777 uid: 0 gid: 0
0.004791 182 V3 ACCESS Call, FH: 0x44856022, [Check: RD LU MD XT DL]
0.004861 190 V3 ACCESS Reply (Call In 9), [Allowed: RD LU MD XT DL]
0.005076 178 V3 GETATTR Call, FH: 0x44856022
0.005152 182 V3 GETATTR Reply (Call In 11) Directory mode: 0755 uid: 100 gid: 10
0.005327 194 V3 LOOKUP Call, DH: 0x44856022/testfile1
0.005371 186 V3 LOOKUP Reply (Call In 13) Error: NFS3ERR_NOENT
0.005559 178 V3 GETATTR Call, FH: 0x44856022
0.005594 182 V3 GETATTR Reply (Call In 15) Directory mode: 0755 uid: 100 gid: 10
0.005773 178 V3 GETATTR Call, FH: 0x44856022
0.005806 182 V3 GETATTR Reply (Call In 17) Directory mode: 0755 uid: 100 gid: 10
0.005972 178 V3 GETATTR Call, FH: 0x44856022
0.006002 182 V3 GETATTR Reply (Call In 19) Directory mode: 0755 uid: 100 gid: 10
0.006193 182 V3 GETACL Call
0.006227 206 V3 GETACL Reply (Call In 21)
0.006430 194 V3 LOOKUP Call, DH: 0x44856022/testfile1
0.006463 186 V3 LOOKUP Reply (Call In 23) Error: NFS3ERR_NOENT
0.006618 238 V3 CREATE Call, DH: 0x44856022/testfile1 Mode: GUARDED
0.007875 342 V3 CREATE Reply (Call In 25)
0.008064 178 V3 GETATTR Call, FH: 0xd98a8154
0.008096 182 V3 GETATTR Reply (Call In 27) Regular File mode: 0600 uid: 100 gid: 10
0.008333 1222 V3 WRITE Call, FH: 0xd98a8154 Offset: 0 Len: 1024 FILE_SYNC
0.009587 230 V3 WRITE Reply (Call In 29) Len: 1024 FILE_SYNC
0.009789 178 V3 GETATTR Call, FH: 0xd98a8154
0.009826 182 V3 GETATTR Reply (Call In 31) Regular File mode: 0600 uid: 100 gid: 10
0.009998 222 V3 SETATTR Call, FH: 0xd98a8154
0.011082 214 V3 SETATTR Reply (Call In 33)
0.011337 222 V3 SETATTR Call, FH: 0x44856022
0.012334 214 V3 SETATTR Reply (Call In 35)
"""

TAR41 = """
3.658097 286 V4 Call getattr GETATTR FH: 0x026e0906
3.658212 66 2049 → 1023 [ACK] Seq=1 Ack=221 Win=32806 Len=0 TSval=899272 TSecr=844284
3.658521 362 V4 Reply (Call In 1) getattr GETATTR
3.659236 294 V4 Call access ACCESS FH: 0x026e0906, [Check: RD LU MD XT DL]
3.659366 378 V4 Reply (Call In 4) access ACCESS, [Allowed: RD LU MD XT DL]
3.659744 358 V4 Call lookup valid LOOKUP DH: 0xcdc9c445/jmoekamp
3.659851 178 V4 Reply (Call In 6) lookup valid NVERIFY Status: NFS4ERR_SAME
3.660285 294 V4 Call access ACCESS FH: 0xcdc9c445, [Check: RD LU MD XT DL]
3.660432 378 V4 Reply (Call In 8) access ACCESS, [Access Denied: MD XT DL], [Allowed: RD LU]
3.660945 286 V4 Call getattr GETATTR FH: 0x026e0906
3.661071 362 V4 Reply (Call In 10) getattr GETATTR
3.661773 286 V4 Call getattr GETATTR FH: 0x026e0906
3.661896 442 V4 Reply (Call In 12) getattr GETATTR
3.668453 414 V4 Call open OPEN DH: 0x026e0906/test1
3.670813 762 V4 Reply (Call In 14) open OPEN StateID: 0x3aa3
3.671881 326 V4 Call setattr SETATTR FH: 0x1d14c75e
3.673187 382 V4 Reply (Call In 16) setattr SETATTR
3.673623 274 V4 Call access ACCESS FH: 0x1d14c75e, [Check: RD MD XT XE]
3.673740 186 V4 Reply (Call In 18) access ACCESS, [Access Denied: XE], [Allowed: RD MD XT]
3.674939 1326 V4 Call write WRITE StateID: 0xf88c Offset: 0 Len: 1024
3.676379 194 V4 Reply (Call In 20) write WRITE
3.677073 354 V4 Call setattr SETATTR FH: 0x1d14c75e
3.678309 382 V4 Reply (Call In 22) setattr SETATTR
3.678828 310 V4 Call close CLOSE StateID: 0x3aa3
3.678957 386 V4 Reply (Call In 24) close CLOSE
"""

SIZES = """
0.007877 234 V3 CREATE Call, DH: 0x24bc098f/32kfile Mode: GUARDED
0.015328 846 V3 WRITE Call, FH: 0x58dd2c54 Offset: 0 Len: 32768 UNSTABLE
0.018675 190 V3 COMMIT Call, FH: 0x58dd2c54
0.021063 234 V3 CREATE Call, DH: 0x24bc098f/1kfile Mode: GUARDED
0.024100 1222 V3 WRITE Call, FH: 0xc5d2cd22 Offset: 0 Len: 1024 FILE_SYNC
0.036633 234 V3 CREATE Call, DH: 0x24bc098f/33kfile Mode: GUARDED
0.040300 846 V3 WRITE Call, FH: 0x38903d60 Offset: 0 Len: 32768 UNSTABLE
0.040743 1222 V3 WRITE Call, FH: 0x38903d60 Offset: 32768 Len: 1024 FILE_SYNC
0.046502 190 V3 COMMIT Call, FH: 0x38903d60
0.050702 234 V3 CREATE Call, DH: 0x24bc098f/64kfile Mode: GUARDED
0.054108 846 V3 WRITE Call, FH: 0xa59fdc16 Offset: 0 Len: 32768 UNSTABLE
0.055688 846 V3 WRITE Call, FH: 0xa59fdc16 Offset: 32768 Len: 32768 UNSTABLE
0.066764 190 V3 COMMIT Call, FH: 0xa59fdc16
"""


def _lines(path: Path, display_filter: str = "") -> list[str]:
    """Time since time 0, length and summary, as the published tables print them."""
    names = ["frame.time_epoch", "frame.len", "_ws.col.Info"]
    rows = fields(path, names, display_filter)
    return [
        " ".join([f"{float(row[0].removeprefix('14832288')):.6f}", row[1], *row[2].split()])
        for row in rows
    ]


@pytest.mark.parametrize(
    ("capture", "table", "display_filter"),
    [
        (nfsv3_tar(), TAR3, ""),
        (nfsv41_tar(), TAR41, ""),
        (nfsv3_sizes(), SIZES, "rpc.msgtyp == 0"),
    ],
    ids=["tar3", "tar41", "sizes"],
)
def test_tables(capture: Capture, table: str, display_filter: str, tmp_path: Path) -> None:
    path = written(capture, tmp_path)
    assert_clean(path)
    assert _lines(path, display_filter) == table.strip().splitlines()


def test_service_times_of_the_v3_table(tmp_path: Path) -> None:
    """MKDIR 9, CREATE 8, WRITE 7 and SETATTR 2 wait for stable storage."""
    path = written(nfsv3_tar(), tmp_path)
    assert len(fields(path, ["frame.number"], "rpc.msgtyp == 0")) == 18
    stable: list[int] = []
    other: list[int] = []
    for program, procedure, time in fields(
        path, ["rpc.program", "rpc.procedure", "rpc.time"], "rpc.msgtyp == 1"
    ):
        waits = program == "100003" and procedure in {"2", "7", "8", "9"}
        (stable if waits else other).append(round(float(time) * 1e6))
    assert (len(stable), sum(stable)) == (5, 8022)
    assert (len(other), sum(other)) == (13, 707)


def test_addresses(tmp_path: Path) -> None:
    path = written(nfsv3_tar(), tmp_path)
    names = ["ip.src", "ip.dst", "tcp.srcport", "tcp.dstport"]
    assert fields(path, names, "frame.number <= 2") == [
        ["10.0.2.11", "10.0.2.10", "1023", "2049"],
        ["10.0.2.10", "10.0.2.11", "2049", "1023"],
    ]


def test_published_compound_of_the_write(tmp_path: Path) -> None:
    path = written(nfsv41_tar(), tmp_path)
    names = ["nfs.opcode", "nfs.minorversion", "nfs.stable_how4", "nfs.main_opcode"]
    rows = fields(path, names, "nfs.main_opcode == 38 && rpc.msgtyp == 0")
    assert rows == [["53,22,38", "1", "2", "38"]]


def test_they_are_the_same_every_time() -> None:
    assert nfsv3_tar() == nfsv3_tar()
    assert nfsv3_sizes() == nfsv3_sizes()
    assert nfsv41_tar() == nfsv41_tar()
