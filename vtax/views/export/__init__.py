"""A result in other programs' formats."""

from vtax.views.export.openmetrics import openmetrics
from vtax.views.export.tables import tables_document, write_csv_files

__all__ = ["openmetrics", "tables_document", "write_csv_files"]
