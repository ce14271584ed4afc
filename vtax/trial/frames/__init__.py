"""Frames from sources to sinks: what sends and counts them, and what is made of the counts."""
