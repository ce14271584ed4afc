"""Text in CSV that a spreadsheet would carry out as a formula."""

import re

FORMULA = r"^[=+\-@\t\r]"
"""How a text begins of which some spreadsheet makes a formula; Python's re and Arrow's RE2 read it alike."""
QUOTE = "'"
"""In front of a text it has spreadsheets take that as a text."""

_FORMULA = re.compile(FORMULA)


def harmless(text: str) -> str:
    """Return a text as a cell of CSV has it: with an apostrophe in front where it would be a formula."""
    return f"{QUOTE}{text}" if _FORMULA.match(text) else text
