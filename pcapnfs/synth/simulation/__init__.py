"""A simulated client and server: a workload → a capture whose truth is known because it was made.

``options``      what was asked for
``filesystem``   the server's files
``exchange``     one call and what answers it
``protocol3``, ``protocol4``   what a client can ask, as exchanges of NFSv3 or NFSv4
``state4``       what NFSv4 calls sessions, owners, states and attributes
``client``       a client's caches, which decide what it asks
``workloads``    what the programs on the client do
``network``      links with delay, jitter and loss, and the TCP segments that a vantage point sees
``run``          the clock: who acts next, and when
``truth``        what happened, by file and call, as JSON

Time is integer nanoseconds throughout.  Whatever is random comes from one seeded generator, so that
the same options give the same bytes.
"""
