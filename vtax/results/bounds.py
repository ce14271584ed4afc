"""How large a result may be that is read: far beyond what a campaign writes, and little enough to be looked at.

A file beyond these is refused by name, as one is that is no regular file: a result may be anybody's.
"""

from typing import Final

MANIFEST_BYTES: Final = 2**24
"""Of campaign.json. A campaign of one machine has some kilobytes."""
MANIFEST_LEVELS: Final = 100
"""How deep it is nested; those in tests/data/recorded have four."""
JOURNAL_BYTES: Final = 2**28
"""A million trials have 140 to 200 MB."""
BLOCKS: Final = 10_000
"""Their numbers have four digits; a scenario repeats its cells at most a thousand times."""
PARTS: Final = 2**20
"""Files of a table."""
PART_BYTES: Final = 2**30
PART_ROWS: Final = 2**24
"""A run has at most a million iterations, and a block a million trials."""
CAPTURE_BYTES: Final = 2**28
"""A trial has at most 1,024 captured frames."""
FILE_BYTES: Final = 2**26
"""Of what a scenario names, as much as an agent takes."""
COUNT: Final = 2**62
"""What any number of a trial, or of its rows, is below."""
