"""Simulations of the shapes that machines make: fewer of them than `make validate` carries out."""

from pathlib import Path

import pytest

from validation import shapes


def test_what_is_shown_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "CAMPAIGNS", 200)
    monkeypatch.setattr(shapes, "STOPPING", 60)
    section = shapes.run(tmp_path)
    assert [check.what for check in section.checks if not check.holds] == []
    assert sum("collapse" in check.what for check in section.checks) == 14


def test_an_interval_of_no_width_holds_nothing() -> None:
    assert shapes._holds(1.0, 2.0, 1.5)
    assert not shapes._holds(1.0, 1.0, 1.0)
    assert not shapes._holds(1.0, 2.0, 3.0)
