"""Every document by the command that prints it, and its JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import CoreSchema

from vtax.documents.ab import Ab
from vtax.documents.base import Document
from vtax.documents.checks import Checks
from vtax.documents.claims import Claims
from vtax.documents.comparison import Comparison
from vtax.documents.diagnosis import Diagnosis
from vtax.documents.export import Export
from vtax.documents.history import History
from vtax.documents.run import Run
from vtax.documents.show import Show
from vtax.documents.trace import Trace
from vtax.inputs.json_schema import DIALECT

DOCUMENTS: Final[Mapping[str, type[Document]]] = {
    "ab": Ab,
    "claims": Claims,
    "compare": Comparison,
    "diagnose": Diagnosis,
    "doctor": Checks,
    "export": Export,
    "history": History,
    "run": Run,
    "show": Show,
    "trace": Trace,
}
"""By the command that prints it."""


class _Schema(GenerateJsonSchema):
    """Leaves out titles, which would only repeat the names of fields."""

    def field_title_should_be_set(self, schema: CoreSchema) -> bool:
        """Return False, for every field."""
        return False


def document_schema(name: str) -> dict[str, JsonValue]:
    """Return the JSON Schema of the document of that name, by which every field is there and no other is."""
    model = DOCUMENTS[name]
    version = model.model_fields["format_version"].default
    schema: dict[str, JsonValue] = model.model_json_schema(schema_generator=_Schema, mode="serialization")
    return {"$schema": DIALECT, **schema, "title": f"vtax {name}, format version {version}"}
