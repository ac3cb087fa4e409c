"""``Compound``: COMPOUND4args, written like a sentence.

Every method appends one operation and returns the compound.  Handles are bytes, offsets and counts
bytes, attributes names (asked for) or name → value (set).
"""

from pcapnfs.synth.builder.nfs4.call_base import CallBase
from pcapnfs.synth.builder.nfs4.call_files import FileCalls
from pcapnfs.synth.builder.nfs4.call_session import SessionCalls
from pcapnfs.synth.builder.nfs4.call_state import StateCalls
from pcapnfs.synth.builder.nfs4.call_v42 import Version42Calls


class Compound(FileCalls, StateCalls, SessionCalls, Version42Calls, CallBase):
    """The arguments of one COMPOUND (RFC 8881 section 16.2); all operations at one level."""
