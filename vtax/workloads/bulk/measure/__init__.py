"""Bulk: streams of data to, from or through guests, each with a peer of its own outside the host."""
