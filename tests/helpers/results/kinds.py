"""A small made-up result of every kind of workload, for tests that go through all of them."""

from collections.abc import Mapping
from functools import partial

from tests.helpers.results.bulk import RESULT as BULK
from tests.helpers.results.echo import RESULT as ECHO
from tests.helpers.results.forwarding import RESULT as FORWARDING
from tests.helpers.results.program import RESULT as PROGRAM
from tests.helpers.results.relay import RESULT as RELAY
from tests.helpers.results.requests import RESULT as REQUESTS
from tests.helpers.results.traced import RESULT as TRACED_REQUESTS
from vtax.results import Result

TRACED = "traced requests"
RESULTS: Mapping[str, partial[Result]] = {
    "forwarding": FORWARDING,
    "bulk": BULK,
    "echo": ECHO,
    "requests": REQUESTS,
    "relay": RELAY,
    "program": PROGRAM,
    TRACED: TRACED_REQUESTS,
}
"""By the kind's name; of traced requests no trial tells of anything but stages."""
