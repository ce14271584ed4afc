"""One campaign on several testbeds: blocks are handed out over Dask, and merged as they arrive.

All that vtax knows of Dask is in this package, which needs the extra `cluster`.
"""
