"""``CompoundReply``: COMPOUND4res, written like a sentence.

Every method appends one result and returns the reply.  ``status`` other than 0 builds the failure
arm; the caller ends the reply there, as a server would.
"""

from pcapnfs.synth.builder.nfs4.reply_base import ReplyBase
from pcapnfs.synth.builder.nfs4.reply_files import FileReplies
from pcapnfs.synth.builder.nfs4.reply_session import SessionReplies
from pcapnfs.synth.builder.nfs4.reply_state import StateReplies
from pcapnfs.synth.builder.nfs4.reply_v42 import Version42Replies


class CompoundReply(FileReplies, StateReplies, SessionReplies, Version42Replies, ReplyBase):
    """The results of one COMPOUND (RFC 8881 section 16.2); all operations at one level."""
