"""What was said of undisturbed trials is laid to the machine only where vtax cannot have done it."""

from validation.undisturbed import Trial, explained
from vtax.trial.interference import STOLEN
from vtax.workloads.forwarding.measure.instrument import LATE
from vtax.workloads.forwarding.measure.instrument import WAITED as KEPT_WAITING

STOLEN_TRIAL = Trial("suspect", [f"{LATE}: 99th percentile 4.8 ms", f"{STOLEN}: 2.3%"], 0.1, 0.0, 0.0)
STOPPED = Trial("suspect", [f"{LATE}: 99th percentile 5.0 ms"], 0.25, 0.01, 0.0)
AWAY = Trial("suspect", [f"{LATE}: 99th percentile 8.9 ms"], 1.45, 17.61, 0.0)
WAITED = Trial("suspect", [f"{LATE}: 99th percentile 5.0 ms"], 5.2, 0.01, 1.0)
WAITED_MORE = Trial("suspect", [f"{LATE}: 99th percentile 1.2 ms"], 5.65, 3.83, 0.0)
UNKNOWN = Trial("suspect", [f"{LATE}: 99th percentile 5.0 ms"], None, None, None)
OTHER = Trial(
    "suspect", [f"{LATE}: 99th percentile 5.0 ms", "frames of another trial: 3 on stream 0"], 0.1, 9.0, 9.0
)
CROSSED = Trial(
    "suspect", [f"source {KEPT_WAITING}: 5.2%", f"{LATE}: 99th percentile 5.0 ms"], 12.9, 0.01, 12.3
)
UNTOLD = Trial("suspect", [f"{LATE}: 99th percentile 5.0 ms"], 12.9, 0.01, None)
SLOWED = Trial(
    "suspect",
    [
        "CPU 0 was slow after the trial: a chain of multiplications took 1.4 times as long as the campaign's median"
    ],
    1.6,
    236.1,
    0.0,
)
SLOW_MEMORY = Trial(
    "suspect",
    ["CPU 0 was slow after the trial: a load from memory took 2.1 times as long as the campaign's median"],
    1.6,
    236.1,
    0.0,
)


def test_the_machine_below_is_named_where_it_alone_can_have_been() -> None:
    note = explained([STOLEN_TRIAL, STOPPED, STOPPED, AWAY], 100, 0.01)
    assert note is not None
    assert "disturbed 4 of these" in note and "stolen time in 1" in note
    assert "1.45 ms at most" in note and "up to 17.6 ms" in note


def test_others_processes_are_named_where_but_for_them_the_source_hardly_waited() -> None:
    note = explained([CROSSED, CROSSED], 100, 0.01)
    assert note is not None
    assert "disturbed 2 of these" in note and "In 2 others' processes had its CPU for 12.3 to 12.3 ms" in note


def test_arithmetic_that_took_longer_is_the_machines_doing() -> None:
    note = explained([SLOWED, SLOWED], 100, 0.01)
    assert note is not None
    assert "In 2 a CPU was slower at the same arithmetic" in note


def test_what_may_have_come_from_here_is_not_explained_away() -> None:
    for trial in (WAITED, WAITED_MORE, UNKNOWN, OTHER, UNTOLD, SLOW_MEMORY):
        assert explained([STOPPED, trial, trial], 100, 0.01) is None
        assert explained([STOPPED, STOPPED, trial], 100, 0.01) is not None


def test_nothing_is_explained_where_nothing_missed() -> None:
    assert explained([STOPPED], 100, 0.01) is None
    assert explained([], 100, 0.0) is None
