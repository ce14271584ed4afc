"""What chrony says of a machine's time of day, where it runs there."""

import csv
import math
import shutil
import subprocess

ANSWER_LIMIT_S = 2.0
# Fields of a line of `chronyc -c tracking`; chrony's documentation of `tracking` gives the bound and the order.
REFERENCE, SYSTEM_TIME, ROOT_DELAY, ROOT_DISPERSION, LEAP_STATUS = 0, 4, 10, 11, 13
NO_REFERENCE, ITSELF = "00000000", "7F7F0101"
UNSYNCHRONIZED = "Not synchronised"


def time_error_ns() -> int | None:
    """How far CLOCK_REALTIME may be from what chrony's servers tell, at most; None where chrony does not say."""
    chronyc = shutil.which("chronyc")
    if chronyc is None:
        return None
    try:
        told = subprocess.run(
            [chronyc, "-n", "-c", "tracking"],
            check=False,
            capture_output=True,
            text=True,
            timeout=ANSWER_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return read_tracking(told.stdout) if told.returncode == 0 else None


def read_tracking(text: str) -> int | None:
    """The bound of a line of `chronyc -c tracking`; None where it follows nobody, or nobody but itself.

    |system time| + root dispersion + root delay / 2.
    """
    rows = list(csv.reader(text.splitlines()))
    if len(rows) != 1 or len(rows[0]) <= LEAP_STATUS:
        return None
    (row,) = rows
    if row[REFERENCE] in (NO_REFERENCE, ITSELF) or row[LEAP_STATUS] == UNSYNCHRONIZED:
        return None
    try:
        system_s, delay_s, dispersion_s = (
            abs(float(row[field])) for field in (SYSTEM_TIME, ROOT_DELAY, ROOT_DISPERSION)
        )
    except ValueError:
        return None
    bound_s = system_s + dispersion_s + delay_s / 2
    return math.ceil(bound_s * 1e9) if math.isfinite(bound_s) else None
