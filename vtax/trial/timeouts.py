"""How long answers of a trial are waited for, and the last of what was sent."""

TIMEOUT_MS = 2000
TIMEOUT_EMULATED_MS = 10_000
QUIET_MS = 200
QUIET_EMULATED_MS = 500
DRAIN_LIMIT_MS = 2000
"""RFC 2544 section 23 waits two seconds for residual frames."""


def answer_timeout_ms(*, emulated: bool) -> int:
    """Return how long a message's answer is waited for; one that takes longer is lost."""
    return TIMEOUT_EMULATED_MS if emulated else TIMEOUT_MS


def quiet_ms(*, emulated: bool) -> int:
    """Return how long nothing has to come until all that was sent is taken to have come, or to be lost."""
    return QUIET_EMULATED_MS if emulated else QUIET_MS
