"""NFS version 4 (RFC 7530, 8881, 7862, 8276): compounds and their replies, op after op.

``Compound(minor=1).sequence(session, 7).putfh(fh).getattr(["size"]).request()`` is a request,
``CompoundReply().sequence(session, 7).putfh().getattr({"size": 5}).body()`` what answers it.
"""

from pcapnfs.synth.builder.nfs4.attributes import ATTRIBUTES, bitmap4, fattr4
from pcapnfs.synth.builder.nfs4.call import Compound
from pcapnfs.synth.builder.nfs4.callback import CallbackCompound, CallbackReply
from pcapnfs.synth.builder.nfs4.reply import CompoundReply
from pcapnfs.synth.builder.nfs4.reply_files import Entry4
from pcapnfs.synth.builder.nfs4.reply_session import (
    file_device_address,
    file_layout,
    flex_device_address,
    flex_layout,
)
from pcapnfs.synth.builder.nfs4.reply_state import Denied
from pcapnfs.synth.builder.nfs4.reply_v42 import Data, Hole
from pcapnfs.synth.builder.nfs4.types import (
    ANONYMOUS,
    CURRENT,
    READ_BYPASS,
    ChangeInfo,
    ChannelAttributes,
    Delegation,
    Layout,
    Op,
    Stateid,
)

__all__ = [
    "ANONYMOUS",
    "ATTRIBUTES",
    "CURRENT",
    "READ_BYPASS",
    "CallbackCompound",
    "CallbackReply",
    "ChangeInfo",
    "ChannelAttributes",
    "Compound",
    "CompoundReply",
    "Data",
    "Delegation",
    "Denied",
    "Entry4",
    "Hole",
    "Layout",
    "Op",
    "Stateid",
    "bitmap4",
    "fattr4",
    "file_device_address",
    "file_layout",
    "flex_device_address",
    "flex_layout",
]
