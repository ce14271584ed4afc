"""Reading what users write: YAML with positions, checked by pydantic, refused with file and line."""

from vtax.inputs.document import (
    Document,
    InputError,
    Loc,
    advised,
    closest,
    one_line,
    read_document,
    read_file,
    scalar,
    suggestion,
)
from vtax.inputs.validation import allowed, problems, validate, value_problem

__all__ = [
    "Document",
    "InputError",
    "Loc",
    "advised",
    "allowed",
    "closest",
    "one_line",
    "problems",
    "read_document",
    "read_file",
    "scalar",
    "suggestion",
    "validate",
    "value_problem",
]
