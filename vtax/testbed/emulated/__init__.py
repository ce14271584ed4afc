"""Hosts that are machines under emulation, on which hypervisors run for real: their file system, and their start."""
