"""What a campaign tells whoever watches it."""

from pathlib import Path
from typing import Protocol


class Progress(Protocol):
    """Called between trials, never during one: drawing costs CPU time."""

    def campaign(self, name: str, trials: int | None, directory: Path) -> None:
        """The campaign begins; `trials` is None where their number is decided by what they show."""

    def note(self, text: str) -> None:
        """Something a user should know: a skipped platform, a guest that died."""

    def standing(self, text: str) -> None:
        """How far the campaign is that ends by its results; what was told before is not so any more."""

    def trial_started(self, number: int, cell_key: str) -> None:
        """Trial `number` (from 1) of the plan begins."""

    def trial_finished(self, number: int, verdict: str, headline: str) -> None:
        """It ended, and was committed."""

    def finished(self) -> None:
        """The campaign has ended, however."""
