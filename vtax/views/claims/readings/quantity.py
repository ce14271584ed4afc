"""A quantity that claims are about: its name in their file, and how its values are shown."""

from __future__ import annotations

from dataclasses import dataclass

from vtax.model.numbers import Format


@dataclass(frozen=True)
class Quantity:
    """`name` has the unit of the values, `unit` that in which `form` shows them."""

    name: str
    unit: str
    form: Format
