"""A trial with a row in every table, for tests of how results are stored."""

from typing import Any

from vtax.results import Result, TrialRecord

CAMPAIGN: dict[str, Any] = {"name": "test", "scenario": {"factors": {"platform": ["raw"], "vcpus": [1, 2]}}}


def record(trial_id: int, block: int = 0, **trial: Any) -> TrialRecord:
    return TrialRecord(
        {"trial_id": trial_id, "block": block, "platform": "raw", "verdict": "valid", **trial},
        flows=[{"stream": 0, "received_mbps": 100.0 + trial_id}, {"stream": 1, "received_mbps": 50.0}],
        series=[{"stream": 0, "step": 0, "goodput_mbps": 100.0}],
        cpu=[{"host": "local", "domain": "host", "component": "total", "percent": 12.5}],
        hops=[{"hop": "uut0", "received": 7}],
        latency=[{"stream": 0, "kind": "one-way", "corrected": False, "histogram": "HISTFAAA"}],
        stages=[{"host": "uut", "stage": "switch", "count": 7}],
        packets=[{"packet": 0, "function": "queue", "at_ns": 1}],
        environment=[{"host": "local", "kernel": "6.1"}],
        canary=[{"host": "local", "cpu": 1, "moment": "before", "chain_ns": 1.5}],
        searches=[{"goal": "NDR", "lower_mbps": 1.0}],
        samples=[{"run": 0, "iteration": 0, "ns": 54_400, "status": "done"}],
    )


def ids(result: Result, table: str = "trials") -> list[int]:
    return list(result.tables[table]["trial_id"].to_pylist())
