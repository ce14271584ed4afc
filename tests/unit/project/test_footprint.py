"""A footprint takes nothing that an earlier test's end still brings for a change."""

import pytest

from tests.helpers.footprint import differences

BEFORE = {"links": {"lo", "eth0"}, "programs": {"7 sink"}, "maps": {"8 counts"}}


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (BEFORE, {}),
        ({**BEFORE, "links": {"lo"}}, {"links": {"eth0"}}),
        ({**BEFORE, "links": {"lo", "eth1"}}, {"links": {"eth0", "eth1"}}),
        ({**BEFORE, "maps": {"8 counts", "9 sink"}}, {"maps": {"9 sink"}}),
        ({**BEFORE, "maps": set(), "programs": set()}, {}),
        ({**BEFORE, "maps": {"9 sink"}}, {"maps": {"9 sink"}}),
    ],
    ids=["same", "link gone", "link renamed", "map left", "earlier test's freed", "one freed and one left"],
)
def test_what_came_or_went_is_told_but_what_the_kernel_freed_later(
    after: dict[str, set[str]], told: dict[str, set[str]]
) -> None:
    assert differences(BEFORE, after) == told
