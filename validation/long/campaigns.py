"""Whether `vtax compare` reports a change between campaigns of which nothing changed, an hour apart."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from validation.campaigns import carry_out
from validation.long.machine import machine_in_words
from validation.long.rules import bound_of_alarms, most_alarms, share_of
from validation.section import Check, Section
from vtax.views.compare import CampaignEffect, ChangeVerdict, Comparison, compare, read_earlier
from vtax.views.compare.campaigns import FIXED, Campaign, find_campaigns
from vtax.views.compare.conditions import Facts

SCENARIO: Final = "long/same"
PAIRS: Final = 20
"""The campaign that a campaign is compared with began so many campaigns before it."""
WITHIN: Final = 0.05
UNFINISHED: Final = "unfinished"

TEXT = f"""
One experiment (`validation/long/same.yaml`: the bare host and a container, two frame sizes, a stated load and floods,
5 repetitions) again and again, with nothing changed in between. Of {2 * PAIRS} campaigns in a row each of the second
half is compared with the one that began {PAIRS} campaigns before it, so that no campaign is in two pairs. *With
`--earlier`*: how far campaigns lie apart comes from all that had ended by then, but for the two. *Without*: a standard
deviation of 10% is assumed. A pair in which any metric of any cell is called worse or better is a false alarm. Pairs
share much of their hours, so that alarms are not independent, as the bound takes them. *Same* counts the changes that
are shown to be within 5%: a rule that sees nothing raises no alarm either.
"""


@dataclass(frozen=True)
class Pair:
    """What `vtax compare` found between two campaigns; `earlier` counts the others that it had for the campaign effect.

    `alarms` are changes called worse or better, `same` those shown to be within the tolerance, both with the earlier
    campaigns; the `assumed_` ones without.
    """

    at: str
    machine: str
    hours_apart: float
    earlier: int
    changes: int
    alarms: int
    same: int
    assumed_alarms: int
    assumed_same: int


def measure_campaign(results: Path) -> list[Pair]:
    """Measure the experiment once more, into a directory of `results`, and compare it with its pair if it has one.

    Raises as `vtax.campaign.run` does.
    """
    results.mkdir(parents=True, exist_ok=True)
    unfinished = results / UNFINISHED
    if unfinished.exists():
        shutil.rmtree(unfinished)
    carry_out(SCENARIO, unfinished)
    ended = unfinished.rename(results / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    campaigns = _alike(results, ended)
    if (len(campaigns) - 1) % (2 * PAIRS) < PAIRS:
        return []
    a, b = campaigns[-1 - PAIRS], campaigns[-1]
    effect = read_earlier(results, a, b)
    known = _compared(a, b, effect)
    assumed = _compared(a, b, CampaignEffect())
    return [
        Pair(
            at=f"{b.created_at:%Y-%m-%dT%H:%M:%SZ}",
            machine=machine_in_words(),
            hours_apart=round((b.created_at - a.created_at).total_seconds() / 3600, 3),
            earlier=effect.campaigns,
            changes=len(known.changes),
            alarms=_alarms(known),
            same=known.counts[ChangeVerdict.SAME],
            assumed_alarms=_alarms(assumed),
            assumed_same=assumed.counts[ChangeVerdict.SAME],
        )
    ]


def ended_campaigns(results: Path) -> int:
    """Return how many campaigns ended in a directory of results."""
    return sum(path.name != UNFINISHED for path in results.iterdir()) if results.is_dir() else 0


def section(pairs: Sequence[Pair]) -> Section:
    """Hold the false alarms against what chance allows; `pairs` are not none."""
    hours = [pair.hours_apart for pair in pairs]
    return Section(
        "Campaigns between which nothing changed",
        TEXT,
        (
            _alarmed(
                f"with `--earlier`, {min(pair.earlier for pair in pairs)} campaigns or more",
                pairs,
                [pair.alarms for pair in pairs],
                [pair.same for pair in pairs],
            ),
            _alarmed(
                "without",
                pairs,
                [pair.assumed_alarms for pair in pairs],
                [pair.assumed_same for pair in pairs],
            ),
            Check(
                "time between the two campaigns of a pair",
                f"median {median(hours):.1f} hours ({min(hours):.1f} to {max(hours):.1f})",
                "for comparison",
                True,
            ),
        ),
    )


def _alarmed(what: str, pairs: Sequence[Pair], alarms: Sequence[int], same: Sequence[int]) -> Check:
    alarmed = sum(each > 0 for each in alarms)
    changes = sum(pair.changes for pair in pairs)
    return Check(
        f"{what}: pairs with a false alarm",
        f"{share_of(alarmed, len(pairs))}; {100 * sum(same) / changes:.0f}% of {changes:,} changes same",
        bound_of_alarms(len(pairs)),
        alarmed <= most_alarms(len(pairs)),
    )


def _alike(results: Path, ended: Path) -> tuple[Campaign, ...]:
    """The campaigns on the machine and the kernel of the one that ended, the earliest first."""
    every = [
        campaign for experiment in find_campaigns(results).experiments for campaign in experiment.campaigns
    ]
    (last,) = (campaign for campaign in every if campaign.directory == ended)
    return tuple(campaign for campaign in every if _conditions(campaign) == _conditions(last))


def _conditions(campaign: Campaign) -> list[Facts]:
    return [campaign.facts[condition] for condition in (*FIXED, "kernel")]


def _compared(a: Campaign, b: Campaign, effect: CampaignEffect) -> Comparison:
    return compare(a, b, within=WITHIN, effect=effect)


def _alarms(compared: Comparison) -> int:
    return compared.counts[ChangeVerdict.WORSE] + compared.counts[ChangeVerdict.BETTER]
