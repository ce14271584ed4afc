"""The measured window of a trial, as the controller keeps it."""

import time

SAMPLE_INSET_S = 0.03
"""CPU samples lie this far inside the measured window: the controller learns its exact bounds only afterwards."""


def sleep_until(moment: float) -> None:
    """Sleep until a moment of the monotonic clock: nothing crosses a control stream meanwhile."""
    time.sleep(max(0.0, moment - time.monotonic()))
