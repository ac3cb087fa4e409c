"""The rules, one per file, in the order in which docs/findings.md tells them."""

from pcapnfs.diagnosis.finding import Rule
from pcapnfs.diagnosis.rules import (
    access_storm,
    async_export,
    client_bound,
    commit_cost,
    getattr_storm,
    grace_period,
    negative_lookups,
    no_attribute_cache,
    no_directory_cache,
    noac,
    persistence_bound,
    readdir_without_plus,
    readdirplus_unused,
    round_trip_bound,
    server_restart,
    short_attribute_cache,
    small_rsize,
    small_wsize,
    sync_mount,
    transfer_bound,
)

RULES: tuple[Rule, ...] = (
    sync_mount.RULE,
    noac.RULE,
    no_attribute_cache.RULE,
    no_directory_cache.RULE,
    short_attribute_cache.RULE,
    small_rsize.RULE,
    small_wsize.RULE,
    readdir_without_plus.RULE,
    readdirplus_unused.RULE,
    getattr_storm.RULE,
    access_storm.RULE,
    negative_lookups.RULE,
    persistence_bound.RULE,
    round_trip_bound.RULE,
    transfer_bound.RULE,
    client_bound.RULE,
    async_export.RULE,
    server_restart.RULE,
    grace_period.RULE,
    commit_cost.RULE,
)
"""All rules."""
