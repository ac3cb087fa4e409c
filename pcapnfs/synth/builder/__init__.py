"""Builds captures from the inside out: compound → call → record → segment → frame → file.

The layers, each knowing only the ones above it in this list:

``xdr``       RFC 4506 values → bytes
``nfs3``, ``nfs4``, ``mount3``, ``nfsacl``   arguments and results → message bodies
``rpc``       bodies → RFC 5531 messages and record fragments
``packet``    addresses, ports, sequence numbers, payload → link-layer bytes
``wire``      ``Conversation``: messages with times → timed frames
``capture``   timed frames → pcap and pcapng files
``damage``    capture → broken capture

The same calls give the same bytes: nothing is random, no clock is read.
"""

from pcapnfs.synth.builder import damage, mount3, nfs3, nfs4, nfsacl, rpc
from pcapnfs.synth.builder.capture import Capture, Interface
from pcapnfs.synth.builder.nfs4 import Compound, CompoundReply, Stateid
from pcapnfs.synth.builder.packet import Frame, Link, Packet
from pcapnfs.synth.builder.wire import Conversation
from pcapnfs.synth.builder.xdr import Packer

__all__ = [
    "Capture",
    "Compound",
    "CompoundReply",
    "Conversation",
    "Frame",
    "Interface",
    "Link",
    "Packer",
    "Packet",
    "Stateid",
    "damage",
    "mount3",
    "nfs3",
    "nfs4",
    "nfsacl",
    "rpc",
]
