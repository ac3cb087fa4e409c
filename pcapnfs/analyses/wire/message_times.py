"""When messages were on their way, as SQL over the table calls: nanoseconds since 1970.

A damaged capture may claim any times, and the difference of two before 1970 need not fit; those are
taken for 1970.
"""

SENT_FROM, SENT, ANSWERED_FROM, ANSWERED = (
    f"greatest({time}, 0)"
    for time in ("call_first_time", "call_time", "reply_first_time", "reply_time")
)
"""SQL: the first and the last packet of the call, and of its reply."""

LARGE_CALL = f"""
    not callback and first_arrived and call_bytes >= $large and {SENT} > {SENT_FROM}
"""
LARGE_REPLY = f"""
    not callback and first_arrived and reply_bytes >= $large and {ANSWERED} > {ANSWERED_FROM}
"""
"""SQL: calls and replies of so many bytes, `large`, that tell how fast they moved: in more than one
packet, and of a call whose first transmission was answered."""
