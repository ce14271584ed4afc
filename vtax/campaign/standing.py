"""Where a campaign stands: what is committed, and therefore not measured again."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vtax.inputs import InputError
from vtax.results import Result
from vtax.scenario import Scenario


@dataclass
class Standing:
    """Usable trials by block and cell, attempts made at each, and the last trial's number."""

    usable: set[tuple[int, str]] = field(default_factory=set)
    attempts: dict[tuple[int, str], int] = field(default_factory=dict)
    last_trial: int = 0

    @classmethod
    def of(cls, trials: Iterable[dict[str, Any]]) -> "Standing":
        """The standing after `trials`: rows with trial_id, block, cell and verdict."""
        standing = cls()
        for trial in trials:
            standing.add(trial["trial_id"], trial["block"], trial["cell"], trial["verdict"] != "invalid")
        return standing

    def add(self, trial: int, block: int, cell_key: str, usable: bool) -> None:
        """Take note of a committed trial."""
        place = (block, cell_key)
        self.last_trial = max(self.last_trial, trial)
        self.attempts[place] = self.attempts.get(place, 0) + 1
        if usable:
            self.usable.add(place)

    def wants(self, block: int, cell_key: str, attempts: int) -> bool:
        """Whether the cell is still to be measured in this block, given how many attempts it has in all."""
        place = (block, cell_key)
        return place not in self.usable and self.attempts.get(place, 0) < attempts

    def measured(self, cell_key: str) -> bool:
        """Whether the cell has a usable trial in any block."""
        return any(key == cell_key for _, key in self.usable)


def read_standing(directory: Path) -> Standing:
    """The standing of the result in `directory`, once it was repaired: all its trials are whole."""
    trials = Result.open(directory).query("SELECT trial_id, block, cell, verdict FROM trials")
    return Standing.of(trials.to_pylist())


def resumed_scenario(given: Scenario, directory: Path) -> tuple[Scenario, int]:
    """The scenario and seed of the campaign in `directory`, which keeps its own settings.

    Raises InputError when that campaign was of another scenario, or is complete.
    """
    campaign = Result.open(directory).campaign
    if campaign["name"] != given.name:
        raise InputError(
            f'{directory} holds a campaign of "{campaign["name"]}", not of "{given.name}"; name that one'
        )
    return Scenario.from_resolved(campaign["scenario"], directory / "campaign.json"), int(campaign["seed"])
