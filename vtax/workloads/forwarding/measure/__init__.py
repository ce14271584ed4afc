"""Forwarding: frames from a source through the guests to a sink, counted and timed one by one."""
