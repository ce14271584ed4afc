"""The documents that vtax prints as JSON: every field with its meaning, unit and bounds, in one place.

They are public. A view maps what it found to these types, field by field, so that no other change of the code changes
a document. Where a field is renamed or removed, or changes its type, unit or meaning, `format_version` is raised.
docs/documents.md is the page for users. `schema` lists the documents and makes their JSON Schemas.
"""
