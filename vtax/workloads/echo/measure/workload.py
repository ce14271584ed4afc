"""Echoes of a campaign: round trips through one of the guests, which are routers."""

from vtax.trial.endpoint_workload import EndpointWorkload
from vtax.workloads.echo.measure.trial import EchoTrial


class EchoWorkload(EndpointWorkload):
    """Echoes as often as the interval says."""

    trial = EchoTrial
