"""Delays that are withheld since the source was as late as frames took from their departure on (docs/verdicts.md)."""


def late(statistic: str) -> str:
    """Return whether a row of `flows` has no such delay for that reason, in SQL."""
    late_ns, took_ns = f"lateness_{statistic}_ns", f"since_departure_{statistic}_ns"
    return f"coalesce(latency_{statistic}_ns IS NULL AND {late_ns} >= {took_ns}, false)"
