"""Whose call it is: the SQL that several analyses share.

A call belongs to the file of its main operation. Where a file has several handles, the decoder
says which object stands for it (`files.identity`); here calls are counted for that one.
"""

from __future__ import annotations

from pcapnfs import columns

READS = columns.of(calls="callback file", files="file identity")
"""The columns that these read."""

OWNED = """
    aliases as (select file, identity from files where file <> identity),
    owned as (
        select calls.* replace (coalesce(aliases.identity, calls.file) as file)
        from calls left join aliases using (file) where not callback
    )
"""
"""The calls of clients, by the object that stands for their file; NULL for calls on no file."""

OBJECTS = """
    objects as (select * from files where file = identity)
"""
"""One row for each file, however many handles it has."""
