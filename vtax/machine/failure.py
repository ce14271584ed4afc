"""What an error says of itself, for people: one of the system's that names no file is told with where it was met."""

import os
import traceback
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def in_words(error: BaseException) -> str:
    """Return what happened; for a number alone, which a write to a file of the kernel's has, also the function."""
    text = str(error) or type(error).__name__
    if not isinstance(error, OSError) or error.errno is None or str(error) != str(_bare(error.errno)):
        return text
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(PACKAGE)
    ]
    if not own:
        return text
    *_, frame = own
    module = ".".join(Path(frame.filename).relative_to(PACKAGE.parent).with_suffix("").parts)
    return f"{text}, in {frame.name} of {module}, line {frame.lineno}"


def _bare(number: int) -> OSError:
    return OSError(number, os.strerror(number))
