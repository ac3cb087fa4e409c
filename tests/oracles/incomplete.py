"""Why captures of the corpus have calls without reply, replies without call or undecoded messages.

Every capture of which pcapnfs does not say `complete` is named here with the reason, which was
looked up in its bytes or in the corpus' own description; docs/captures.md prints it. No other
capture may be incomplete, and none that is named may be complete.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

INCOMPLETE = {
    "lab/*cachedread8m-*-snap256": "cut at 256 bytes; replies that begin later in a packet of up "
    "to 64 KB are not in the file",
    "lab/nconnect4-*-snap256": "cut at 256 bytes; one call begins at byte 258 of its packet, one "
    "reply later than 256",
    "lab/*-snap*": "packets are cut at the snaplen; every header is there",
    "lab/*fmt-midway-v3": "the capture began between a call and its reply",
    "lab/fmt-plain-v3-cutoff": "the file breaks off within a packet",
    "lab/*-sec-krb5p-*": "RPCSEC_GSS privacy: bodies of calls and replies are encrypted",
    "lab/sec-tls-*": "RPC-with-TLS: one note for the whole connection behind STARTTLS",
    "other/ganesha-frag-v3": "the client asks for version 9, for procedure 77, and with arguments "
    "that end early",
    "other/ganesha-udp-v3": "the client asks for version 9, for procedure 77, and with arguments "
    "that end early",
    "other/gonfs-kernel61-v3": "go-nfs answers a wrong program without the versions that it has, "
    "LINK's error without attributes, FSSTAT with a word too many",
    "other/gonfs-raw-v3": "as above, and the client asks for version 9, for procedure 77, and with "
    "arguments that end early",
    "public/linux-nfs-list/bad-fallback.pcapng": "a real server's fault: EXCHANGE_ID is answered "
    "by the words of a PROG_MISMATCH as if it had succeeded",
    "public/nfstrace/eth-ipv4-udp-nfsv3-reply-first.pcap.bz2": "the first GETATTR call was taken "
    "out on purpose",
    "public/nfstrace/eth-ipv4-udp-nfsv3.pcap.bz2": "its clock ticks every 10 ms, and whether one "
    "of its short calls took a tick is chance",
    "public/nfstrace/tcp-seq-overlap-in-fragment-12721.pcap.bz2": "most of the data of each WRITE "
    "is not in the file, nor "
    "the end of the last",
    "public/nfstrace/1-packet.pcap.bz2": "the first fragment of a WRITE, and nothing else",
    "public/pcapplusplus/ip-frag.pcap": "the capture began between four calls and their replies",
    "public/pcapplusplus/no-ip-frag-all.pcap": "as above, and a WRITE that lost a fragment "
    "was left out when this file was made",
    "public/tcpdump/nfs-cannot-pad-32-bit.pcap": "a LOOKUP whose name claims 2^32-1 bytes",
    "public/tcpdump/nfs-seg-fault-1.pcapng": "the first segment of a WRITE with a damaged handle",
    "public/tcpdump/unaligned-nfs-1.pcap": "one reply, and nothing else",
    "public/wireshark-samples/genbroad.snoop": "broadcasts of the portmapper that nobody answers",
    "public/wireshark-samples/nfs_bad_stalls.cap": "cut at 96 bytes, and half of the calls are not "
    "in the file",
    "public/wireshark-samples/nfsv2.pcap.gz": "its clock ticks every 10 ms, and whether one of its "
    "short calls took a tick is chance",
    "public/wireshark-samples/vxi-11.pcap.gz": "a broadcast of the portmapper that nobody answers",
    "public/zeek/mount-unmount-bad-status.pcap": "the status of MNT was changed to one that does "
    "not exist: what follows is left over",
    "public/zeek/nfs_fsinfo_bad_status.pcap": "the status of FSINFO was changed to one that does "
    "not exist: what follows is left over",
    "public/zeek/nfs_setattr_bad_set_it.pcap": "a time_how of SETATTR was changed to one that does "
    "not exist",
    "public/zeek/portmapper-many-unanswered-calls.pcapng.gz": "5,000 calls that nobody answers",
}
"""Patterns of capture names (folder/name), as of a shell, with the reason; the first that fits
counts."""


def pattern_for(name: str) -> str | None:
    """The first pattern that a capture's name fits; None when its name is in none."""
    return next((pattern for pattern in INCOMPLETE if fnmatchcase(name, pattern)), None)
