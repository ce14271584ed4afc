"""The kinds of workload: a folder each. Only `vtax.registry` knows which there are."""
