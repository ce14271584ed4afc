"""How steady the CPUs of a testbed's machines were in a campaign, by the fixed work around its trials."""

from __future__ import annotations

from msgspec import Struct

from vtax.results import Result

LEAST_READINGS = 12
"""Of a CPU, for a tenth and a third of them to be some."""

_SPEEDS = f"""
    SELECT host, cpu,
           quantile_cont(chain_ns, 0.9) / quantile_cont(chain_ns, 0.1) AS chain,
           quantile_cont(parallel_ns, 0.9) / quantile_cont(parallel_ns, 0.1) AS parallel,
           quantile_cont(frame_ns, 0.9) / quantile_cont(frame_ns, 0.1) AS frame,
           median(chain_ns) FILTER (third = 3) / median(chain_ns) FILTER (third = 1) AS drift
    FROM (SELECT *, ntile(3) OVER (PARTITION BY host, cpu ORDER BY trial_id) AS third FROM canary)
    GROUP BY host, cpu HAVING count(*) >= {LEAST_READINGS} ORDER BY host, cpu
"""  # noqa: S608, a number of our own


class Speed(Struct, frozen=True):
    """How many times as long work took on a CPU in the slowest tenth of readings as in the fastest.

    `drift` is how many times as long the chain took in the campaign's last third as in its first.
    """

    host: str | None
    cpu: int | None
    chain: float | None
    parallel: float | None
    frame: float | None
    drift: float | None


def read_speeds(result: Result) -> tuple[Speed, ...]:
    """Return a row a CPU that has readings enough."""
    return tuple(result.read(_SPEEDS, Speed))
