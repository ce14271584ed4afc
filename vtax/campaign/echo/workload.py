"""Echoes of a campaign: round trips through one of the guests, which are routers."""

from vtax.campaign.echo.trial import EchoTrial
from vtax.campaign.ends_workload import EndsWorkload


class EchoWorkload(EndsWorkload):
    """Echoes as often as the interval says."""

    trial = EchoTrial
