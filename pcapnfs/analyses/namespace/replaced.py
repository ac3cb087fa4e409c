"""What a RENAME replaced: the object that its new name denoted before.

Takes the names of some objects; gives SQL. Of a RENAME, the table of operations tells the object
that gets the new name; the one that had it until then goes, with its handles and delegations.
"""

from __future__ import annotations

from pcapnfs import columns
from pcapnfs.analyses.asking import population

READS = columns.together(
    population.OPERATIONS_READS,
    columns.of(
        operations="call op status file target_directory new_name",
        names="call position directory name file",
    ),
)
"""The columns that this reads."""

RENAMES = population.Operations(("RENAME",))
"""Without one nothing was replaced."""


def replaced(files: str) -> str:
    """SQL: `call` and `status` of each RENAME, and the `file` that it replaced, or was to replace.

    Names are compared by a hash of 64 bits, so that rows stay narrow: two of them share one with a
    probability below 10^-9.

    Args:
        files: SQL that gives the files that are looked for; of others nothing is told.
    """
    return f"""
        select call, status, denoted.file
        from (
                 select call, status, file as renamed, hash(target_directory, new_name) as place
                 from operations
                 where op = 'RENAME' and target_directory is not null and new_name is not null
             ) as renames
             asof join (
                 select call as since, hash(directory, name) as place, file from names
                 where place in (select hash(directory, name) from names where file in ({files}))
                 qualify row_number() over (
                     partition by place, call order by position desc
                 ) = 1
             ) as denoted
             on renames.place = denoted.place and renames.call > denoted.since
        where denoted.file in ({files}) and denoted.file is distinct from renamed
    """
