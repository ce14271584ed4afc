"""What a result says of CPUs that were not as fast all the time."""

from collections.abc import Iterable
from pathlib import Path

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made
from vtax.views.summary import summarise

USUAL = {"chain_ns": 1.4, "parallel_ns": 0.6, "load_ns": 150.0, "system_call_ns": 160.0, "frame_ns": 3000.0}
SHARED = {**USUAL, "parallel_ns": 1.1, "system_call_ns": 220.0, "frame_ns": 4200.0}
SLOW = {name: 1.25 * ns for name, ns in USUAL.items()}


def caveats(directory: Path, trials: Iterable[tuple[dict[str, float], dict[str, float]]]) -> list[str]:
    """Caveats about CPU 0, around whose trials the work took so long; nothing is remarkable about CPU 1."""
    made = [
        Made(
            block=block,
            canary=tuple(
                {"host": "local", "cpu": cpu, "moment": moment, **(times if cpu == 0 else USUAL)}
                for moment, times in (("before", before), ("after", after))
                for cpu in (0, 1)
            ),
        )
        for block, (before, after) in enumerate(trials)
    ]
    found = summarise(make(directory / "r", made)).caveats
    return [f"{each.subject}: {each.text}" for each in found if "CPU" in f"{each.subject}{each.text}"]


def test_a_steady_machine_is_no_caveat(tmp_path: Path) -> None:
    assert caveats(tmp_path, [(USUAL, USUAL)] * 6) == []


def test_cores_that_others_use_as_well_are_a_caveat(tmp_path: Path) -> None:
    assert caveats(tmp_path, [(USUAL, SHARED)] * 6) == [
        "Cores serve other machines: From one moment to the next, frames through the kernel took up to 1.4 times "
        "as long on CPU 0 of local, without steal. Trials of one cell differ for this reason alone."
    ]


def test_a_machine_that_became_slower_is_said_first(tmp_path: Path) -> None:
    trials = [*[(USUAL, USUAL)] * 5, *[(SLOW, SLOW)] * 4]
    assert caveats(tmp_path, trials) == [
        "CPU 0 of local changed its speed: The same arithmetic took 1.25 times as long in the last third of the "
        "campaign as in the first. Compare within blocks only."
    ]


def test_few_readings_are_no_caveat(tmp_path: Path) -> None:
    assert caveats(tmp_path, [(USUAL, SLOW)] * 5) == []
