"""Statistics of trust: no number without its interval and its n.

`interval` means and proportions, `apart` medians where trials collapse or have two modes, `resolution` the steps that
values come in, `anytime` means whose values decided how many there are, `centre` the same of pairs though some stand
apart, `autocorrelation` of values that are not independent, `paired` comparisons within blocks, `unpaired` ones
without, `many` comparisons at once, `change` whether campaigns differ by more than a tolerance, by the `evidence`,
`campaigns` how far they lie apart though nothing changed, `power` the smallest change that would have been found,
`changepoints` where a series of campaigns changes, `selection` the maximum over loads, `histograms` of delay,
`distributions` and their `quantiles`, `search` loads by their loss, `fairness` of what is shared, `artifacts` in many
durations of one operation.
Each function names its source.
"""

from vtax.statistics.anytime import (
    adaptive_interval,
    adaptive_throughput,
    adaptive_total,
    anytime_interval,
    climb,
    climbed_ratio,
    load_cap,
    relative_width,
    repeated_interval,
    repeated_mean,
)
from vtax.statistics.apart import standing_apart, total_interval, typical_interval
from vtax.statistics.campaigns import (
    ASSUMED_DEVIATION,
    LEAST_CAMPAIGNS,
    CampaignScatter,
    EarlierMeans,
    assumed_scatter,
    earlier_means,
)
from vtax.statistics.change import Change, absolute_change, relative_change
from vtax.statistics.changepoints import ChangePoints, change_points
from vtax.statistics.distributions import Distribution, Distributions, merge, samples_needed
from vtax.statistics.fairness import fair_share, jain_index
from vtax.statistics.histograms import decode, decode_all
from vtax.statistics.interval import (
    Centre,
    Interval,
    MeanInterval,
    RepeatedInterval,
    mean_interval,
    proportion_interval,
    with_systematic_error,
)
from vtax.statistics.many import Difference, Picked, pick_differences
from vtax.statistics.paired import in_pairs, paired_difference, paired_ratio
from vtax.statistics.power import POWER
from vtax.statistics.quantiles import quantile_interval
from vtax.statistics.resolution import COUNTED, PER_MILLE, Resolution
from vtax.statistics.selection import Selection, ratio_of_maxima, select_maximum
from vtax.statistics.unpaired import Comparison, compare, discoveries, discovery_level

__all__ = [
    "ASSUMED_DEVIATION",
    "COUNTED",
    "LEAST_CAMPAIGNS",
    "PER_MILLE",
    "POWER",
    "CampaignScatter",
    "Centre",
    "Change",
    "ChangePoints",
    "Comparison",
    "Difference",
    "Distribution",
    "Distributions",
    "EarlierMeans",
    "Interval",
    "MeanInterval",
    "Picked",
    "RepeatedInterval",
    "Resolution",
    "Selection",
    "absolute_change",
    "adaptive_interval",
    "adaptive_throughput",
    "adaptive_total",
    "anytime_interval",
    "assumed_scatter",
    "change_points",
    "climb",
    "climbed_ratio",
    "compare",
    "decode",
    "decode_all",
    "discoveries",
    "discovery_level",
    "earlier_means",
    "fair_share",
    "in_pairs",
    "jain_index",
    "load_cap",
    "mean_interval",
    "merge",
    "paired_difference",
    "paired_ratio",
    "pick_differences",
    "proportion_interval",
    "quantile_interval",
    "ratio_of_maxima",
    "relative_change",
    "relative_width",
    "repeated_interval",
    "repeated_mean",
    "samples_needed",
    "select_maximum",
    "standing_apart",
    "total_interval",
    "typical_interval",
    "with_systematic_error",
]
