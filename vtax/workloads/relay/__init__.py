"""Rounds of a message through a ring of relays, run after run (matthews2009)."""
