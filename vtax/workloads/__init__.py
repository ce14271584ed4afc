"""The kinds of workload: a folder each, and a line in each of the registries that are here.

Each registry is of what one layer knows of a kind: `keys` what scenarios may say, `catalogues` what views show,
`measures` how campaigns measure it.
"""
