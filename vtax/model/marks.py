"""Marks on valid trials: what set a load or a throughput in the platform's stead; see docs/verdicts.md."""

GENERATOR_LIMITED, LINK_LIMITED, BACKPRESSURED = "generator-limited", "link-limited", "backpressured"
UPLINK_LIMITED, LIMIT_UNKNOWN = "uplink-limited", "limit-unknown"
FAR_END_BUSY = "far-end-busy"


def marked(mark: str) -> str:
    """Return whether a trial has a mark, in SQL."""
    return f"coalesce(list_contains(marks, '{mark}'), false)"
