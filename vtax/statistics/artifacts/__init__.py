"""Timing artifacts in durations of many runs of many iterations, as matthews2009 saw them in a mesh of such.

`detect` is the entry: it returns the findings that hold, each a dataclass of its own with its evidence and a
`sentence`. A detector is a file: `periodic`, `moving`, `warmup`, `drift`, `modes`; against a reference, `shape` and
`dispersion`. They look at a `series`; `folding`, `spectrum` and `coincidences` find what recurs in it. `summary` is
the paper's Table 1.
"""

from vtax.statistics.artifacts.detect import detect
from vtax.statistics.artifacts.dispersion import Dispersion
from vtax.statistics.artifacts.drift import Drift
from vtax.statistics.artifacts.finding import Finding, NotEnough
from vtax.statistics.artifacts.modes import Modes
from vtax.statistics.artifacts.moving import Moving
from vtax.statistics.artifacts.periodic import Periodic
from vtax.statistics.artifacts.series import Samples
from vtax.statistics.artifacts.shape import Shape
from vtax.statistics.artifacts.summary import Summary, summarise
from vtax.statistics.artifacts.warmup import WarmUp

__all__ = [
    "Dispersion",
    "Drift",
    "Finding",
    "Modes",
    "Moving",
    "NotEnough",
    "Periodic",
    "Samples",
    "Shape",
    "Summary",
    "WarmUp",
    "detect",
    "summarise",
]
