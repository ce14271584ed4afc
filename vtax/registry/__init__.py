"""Which kinds of workload there are: a line for each in every registry.

Each registry is of what one layer knows of a kind: `keys` what scenarios may say, `catalogues` what views show,
`measures` how campaigns measure it.
"""
