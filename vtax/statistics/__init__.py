"""Statistics of trust: intervals, paired comparisons, selection, quantiles."""
