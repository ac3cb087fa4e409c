"""fattr4: names and values → bitmap and attribute bytes, in the order of the bits.

The table below is RFC 7530 section 5.8, RFC 8881 section 5.8, RFC 7862 section 12, RFC 8275 and
RFC 8276.  Attributes marked ``_raw`` have a structure that the builder leaves to the caller, who
passes their XDR bytes.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pcapnfs.synth.builder.nfs4.types import nfstime4
from pcapnfs.synth.builder.xdr import Packer

Pack = Callable[[Packer, Any], object]
"""Appends a value whose type only the attribute knows: int, bool, str, bytes or a pair of ints."""


def bitmap4(bits: Iterable[int], words: int = 0) -> bytes:
    """A bitmap4 with these bits set, of at least ``words`` words."""
    known = set(bits)
    size = max([words, *(bit // 32 + 1 for bit in known)])
    values = [0] * size
    for bit in known:
        values[bit // 32] |= 1 << (bit % 32)
    return Packer().uint_array(values).done()


def requested(names: Iterable[str | int], words: int = 0) -> bytes:
    """The bitmap4 that asks for these attributes; a bit without a name is given as a number."""
    return bitmap4((_number(name) for name in names), words)


def fattr4(values: Mapping[str, Any], words: int = 0) -> bytes:
    """A fattr4 with these attributes.  Raises KeyError for a name that no RFC has."""
    packer = Packer()
    for name in sorted(values, key=_number):
        ATTRIBUTES[name][1](packer, values[name])
    return Packer().raw(requested(values, words)).opaque(packer.done()).done()


def _number(name: str | int) -> int:
    return name if isinstance(name, int) else ATTRIBUTES[name][0]


def _raw(packer: Packer, value: bytes) -> None:
    packer.raw(value)


def _bits(packer: Packer, value: Iterable[str | int]) -> None:
    packer.raw(requested(value))


def _pair32(packer: Packer, value: tuple[int, int]) -> None:
    packer.uints(*value)


def _pair64(packer: Packer, value: tuple[int, int]) -> None:
    packer.hypers(*value)


def _settime(packer: Packer, value: int | None) -> None:
    """settime4: None is SET_TO_SERVER_TIME4, a number SET_TO_CLIENT_TIME4."""
    packer.uint(0 if value is None else 1)
    if value is not None:
        nfstime4(packer, value)


def _security_label(packer: Packer, value: bytes) -> None:
    packer.uints(0, 0).opaque(value)


ATTRIBUTES: dict[str, tuple[int, Pack]] = {
    "supported_attrs": (0, _bits),
    "type": (1, Packer.uint),
    "fh_expire_type": (2, Packer.uint),
    "change": (3, Packer.hyper),
    "size": (4, Packer.hyper),
    "link_support": (5, Packer.boolean),
    "symlink_support": (6, Packer.boolean),
    "named_attr": (7, Packer.boolean),
    "fsid": (8, _pair64),
    "unique_handles": (9, Packer.boolean),
    "lease_time": (10, Packer.uint),
    "rdattr_error": (11, Packer.uint),
    "acl": (12, _raw),
    "aclsupport": (13, Packer.uint),
    "archive": (14, Packer.boolean),
    "cansettime": (15, Packer.boolean),
    "case_insensitive": (16, Packer.boolean),
    "case_preserving": (17, Packer.boolean),
    "chown_restricted": (18, Packer.boolean),
    "filehandle": (19, Packer.opaque),
    "fileid": (20, Packer.hyper),
    "files_avail": (21, Packer.hyper),
    "files_free": (22, Packer.hyper),
    "files_total": (23, Packer.hyper),
    "fs_locations": (24, _raw),
    "hidden": (25, Packer.boolean),
    "homogeneous": (26, Packer.boolean),
    "maxfilesize": (27, Packer.hyper),
    "maxlink": (28, Packer.uint),
    "maxname": (29, Packer.uint),
    "maxread": (30, Packer.hyper),
    "maxwrite": (31, Packer.hyper),
    "mimetype": (32, Packer.opaque),
    "mode": (33, Packer.uint),
    "no_trunc": (34, Packer.boolean),
    "numlinks": (35, Packer.uint),
    "owner": (36, Packer.opaque),
    "owner_group": (37, Packer.opaque),
    "quota_avail_hard": (38, Packer.hyper),
    "quota_avail_soft": (39, Packer.hyper),
    "quota_used": (40, Packer.hyper),
    "rawdev": (41, _pair32),
    "space_avail": (42, Packer.hyper),
    "space_free": (43, Packer.hyper),
    "space_total": (44, Packer.hyper),
    "space_used": (45, Packer.hyper),
    "system": (46, Packer.boolean),
    "time_access": (47, nfstime4),
    "time_access_set": (48, _settime),
    "time_backup": (49, nfstime4),
    "time_create": (50, nfstime4),
    "time_delta": (51, nfstime4),
    "time_metadata": (52, nfstime4),
    "time_modify": (53, nfstime4),
    "time_modify_set": (54, _settime),
    "mounted_on_fileid": (55, Packer.hyper),
    "dir_notif_delay": (56, nfstime4),
    "dirent_notif_delay": (57, nfstime4),
    "dacl": (58, _raw),
    "sacl": (59, _raw),
    "change_policy": (60, _pair64),
    "fs_status": (61, _raw),
    "fs_layout_types": (62, Packer.uint_array),
    "layout_hint": (63, _raw),
    "layout_types": (64, Packer.uint_array),
    "layout_blksize": (65, Packer.uint),
    "layout_alignment": (66, Packer.uint),
    "fs_locations_info": (67, _raw),
    "mdsthreshold": (68, _raw),
    "retention_get": (69, _raw),
    "retention_set": (70, _raw),
    "retentevt_get": (71, _raw),
    "retentevt_set": (72, _raw),
    "retention_hold": (73, Packer.hyper),
    "mode_set_masked": (74, _pair32),
    "suppattr_exclcreat": (75, _bits),
    "fs_charset_cap": (76, Packer.uint),
    "clone_blksize": (77, Packer.uint),
    "space_freed": (78, Packer.hyper),
    "change_attr_type": (79, Packer.uint),
    "sec_label": (80, _security_label),
    "mode_umask": (81, _pair32),
    "xattr_support": (82, Packer.boolean),
}
"""Name → bit and how its value is packed; times are integer nanoseconds since 1970."""
