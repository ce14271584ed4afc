"""Echoes of a campaign: round trips through one of the guests, which are routers."""

from vtax.trial.ends_workload import EndsWorkload
from vtax.workloads.echo.measure.trial import EchoTrial


class EchoWorkload(EndsWorkload):
    """Echoes as often as the interval says."""

    trial = EchoTrial
