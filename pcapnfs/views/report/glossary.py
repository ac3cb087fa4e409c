"""How each figure is defined, in a sentence or two; sections of the report link here."""

from __future__ import annotations

TERMS: dict[str, tuple[str, str]] = {
    "calls": (
        "Calls, errors, resent",
        "An RPC with one procedure of NFSv3, or one COMPOUND of NFSv4, counted once however often "
        "it was sent. A compound is named after the operation that it is about. Errors were "
        "refused or answered with a status other than OK; resent calls were sent more than once.",
    ),
    "srt": (
        "Service time",
        "From the frame that completes the call to the frame that completes the reply, as "
        "Wireshark defines it; of a call that was resent, from its first transmission. Median, "
        "p95 and p99 are exact. Times of calls that overlap add up to more than the clock showed.",
    ),
    "signature": (
        "Signature",
        "The operations of a compound in order, with (create) at an OPEN that asks to create and "
        "(plus) at a READDIR that asks for attributes. A compound's time is never booked to each "
        "of its operations.",
    ),
    "stable": (
        "Stable",
        "A call that succeeded and that the server had to have on stable storage before it "
        "replied: CREATE, REMOVE, RENAME, SETATTR, COMMIT and the like, and WRITE where the reply "
        "says so. Writes answered UNSTABLE, reads, and client state stand in rows of their own.",
    ),
    "export": (
        "Export",
        "Where a capture shows several exports of a server, calls by that of their file. Small "
        "calls show the round trip: sent once and answered from memory. Of stable calls those are "
        "compared that take as long whatever a file holds: what they took beyond the median small "
        "call of their client at the export, by operation, and by how many calls that need storage "
        "were under way there.",
    ),
    "clock": (
        "Time budget",
        "Every instant at which calls of a client are outstanding is shared equally among them "
        "and booked to what each is outstanding for; an instant without any is the client's own. "
        "The rows add up to the wall clock. Transfer: bytes on their way in messages of several "
        "segments or packets. Waiting: the server was not ready, could not be reached, or did not "
        "answer.",
    ),
    "persistence": (
        "Round trip, persistence",
        "Round trip: what a small call that needs no storage takes as the client sees it. "
        "Persistence: what a stable call takes beyond that, on the mean. With fewer than 30 stable "
        "calls there is no mean, and no model.",
    ),
    "model": (
        "Model, forecast",
        "files × (RPCs per file × round trip + stable calls per file × persistence). The forecast "
        "adds what calls take beyond that, divides by the calls that overlap, and adds the "
        "client's own time. Range: what 90 % of resampled files give; of a change also what "
        "differs from run to run, so that four in five lie in it. Error: how wrong half of the "
        "files foretells what the other half took.",
    ),
    "phase": (
        "Phase",
        "What a client did one after the other: its calls cut where the mixture of operations "
        "changes, and at long pauses.",
    ),
    "findings": (
        "Finding, cost",
        "What a rule saw. Costs are seconds of the time budget; a second is booked to one finding "
        "only, so that they add up. Problem: it costs much of the time, or puts data at risk; "
        "warning: it may, or costs some; note: worth knowing. Of several clients, or beside long "
        "pauses, the share of one client's active time counts, too: from its first call to its "
        "last reply, without pauses of 30 s or more. Certain: the packets say so "
        "themselves; likely: they have no other common cause; possible: there is another one.",
    ),
    "file": (
        "File",
        "An object of a server, known by its handle. A call belongs to the file of its main "
        "operation, a call by name to the child that it names. Asked again: questions whether a "
        "file has changed. Lifetime: from its first call to its last reply.",
    ),
    "pattern": (
        "Pattern",
        "A file's calls in order, repetitions collapsed: CREATE SETATTR×3 WRITE[FILE_SYNC]. "
        "Marks: the level that the server granted, ! failed, ? no reply. Files with one pattern "
        "form a class.",
    ),
    "size": (
        "Sizes",
        "Sizes of the regular files as last seen, in bins that double from an eighth of one "
        "frame's payload on. Fits: what one frame, one READ or one WRITE carries.",
    ),
    "readdir": (
        "Listings",
        "READDIRPLUS, or a READDIR of NFSv4 that asks for what a stat needs, lists with "
        "attributes; any other READDIR lists without.",
    ),
    "followup": (
        "Follow-up",
        "A GETATTR, LOOKUP or ACCESS on an entry by the client that listed it, at most 30 s after "
        "and before it listed again. Attributes in the listing would have spared those that come "
        "while a client believes them, a cache that stays warm also others. Waited: time in which "
        "at least one was under way.",
    ),
    "revalidation": (
        "Revalidation",
        "A question whether what a client knew is still true: a GETATTR for its own sake, or the "
        "one that goes with OPEN. Void: the client learnt that somebody else had changed the "
        "object. Read again: bytes read once more for that reason. Saved: bytes not read again "
        "because the cache was valid, at most.",
    ),
    "delegation": (
        "Delegation",
        "The right, granted by a server of NFSv4, to open and cache a file without asking, until "
        "it is called back.",
    ),
    "rtt": (
        "Round trip, vantage point",
        "The time that the network itself takes to an end and back, from handshakes and ACKs "
        "of TCP or RDMA; ≤ marks an upper bound. The two halves tell whether the capture was taken "
        "at the client, at the server, or between.",
    ),
    "concurrency": (
        "Under way",
        "Calls sent and not answered: the mean over the time in which there was any, or, over "
        "time, the mean in each part.",
    ),
    "loss": (
        "Loss",
        "Segments of TCP, or packets of RDMA, that were sent again; segments that came out of "
        "order, or that were sent and are not in the capture; shut: time for which an end could "
        "take no data.",
    ),
    "trust": (
        "Trust",
        "Nothing is dropped silently: every call has its reply or counts as unanswered, and every "
        "message that was not decoded to its end is counted under its reason.",
    ),
}
"""Terms by their anchor: title and definition."""
