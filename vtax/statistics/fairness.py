"""How evenly what is shared is shared: of a link's rate, of CPU time."""

import math
from collections.abc import Sequence


def fair_share(values: Sequence[float]) -> float:
    """Return what each would have if all had the same: their mean (anhalt2009, Table I). ValueError as jain_index."""
    return math.fsum(_checked(values)) / len(values)


def jain_index(values: Sequence[float]) -> float | None:
    """Return Jain's index of fairness, (sum x)^2 / (n sum x^2) (Jain, Chiu and Hawe 1984; anhalt2009, formula 2).

    1 where all have the same, 1 / n where one has everything. None where nobody has anything. ValueError for no
    values, or one that is negative or not finite.
    """
    largest = max(_checked(values))
    if largest == 0:
        return None
    shares = [value / largest for value in values]  # so that no square over- or underflows
    return math.fsum(shares) ** 2 / (len(shares) * math.fsum(share * share for share in shares))


def _checked(values: Sequence[float]) -> Sequence[float]:
    if not values or not all(math.isfinite(value) and value >= 0 for value in values):
        raise ValueError(f"fairness is of one share at least, all finite and none negative: {list(values)!r}")
    return values
