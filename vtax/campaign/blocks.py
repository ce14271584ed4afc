"""Some blocks of a campaign: those that are measured here, where other testbeds have the others."""

import re
from collections.abc import Sequence

from vtax.inputs import InputError
from vtax.results.stored import ON_ONE_TESTBED
from vtax.scenario import Scenario


def chosen_blocks(scenario: Scenario, wanted: Sequence[int] | None) -> list[int]:
    """The numbers of the blocks to be measured, in order; every block of the scenario for None.

    Raises InputError for a block that the scenario does not have, and where the trials of all blocks belong together.
    """
    if wanted is None:
        return list(range(scenario.repetitions))
    for name in ON_ONE_TESTBED:
        if getattr(scenario.file, name) is not None:
            raise InputError(
                f"{scenario.where(name)}: {name} goes by all trials of a cell, and separate blocks do not have "
                f"them; leave out {name}, and give the number of repetitions"
            )
    unknown = [block for block in wanted if block not in range(scenario.repetitions)]
    if unknown or not wanted:
        raise InputError(
            f"{scenario.where('repetitions')}: {scenario.name} has the blocks 0 to {scenario.repetitions - 1}, "
            f"not {', '.join(map(str, unknown)) or 'none'}"
        )
    return sorted(set(wanted))


def read_blocks(text: str) -> list[int]:
    """The blocks of a text such as `0-3,7`; InputError for any other."""
    blocks: list[int] = []
    for item in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", item)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise InputError(f'--blocks: "{text}" names no blocks; numbers from 0 and ranges do, as in 0-3,7')
        blocks += range(int(found[1]), int(found[2] or found[1]) + 1)
    return blocks
