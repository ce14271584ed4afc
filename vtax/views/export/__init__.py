"""A result in other programs' formats."""

from vtax.views.export.openmetrics import OPENMETRICS, openmetrics
from vtax.views.export.tables import tables_document, write_csv_files

__all__ = ["OPENMETRICS", "openmetrics", "tables_document", "write_csv_files"]
