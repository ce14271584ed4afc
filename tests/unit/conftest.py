"""A fixture of several packages; it imports the controller when a test asks for it."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.helpers.play import Played


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Played":
    """Play a recorded campaign whose agents lie, without waiting; returns how it ended."""
    from tests.helpers.play import playing

    return playing(tmp_path, monkeypatch)
