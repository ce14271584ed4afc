"""The data set of a campaign: written trial by trial, read with SQL.

`ResultWriter` commits each trial to disk before the next begins; `Result` reads what is committed,
also while a campaign still writes. The tables stand in `schema`, for people in docs/results.md.
"""

from vtax.results.captures import CapturedFrame
from vtax.results.delivered import Delivered
from vtax.results.files import FILES, DiskError
from vtax.results.merged import MergedWriter, merge
from vtax.results.reader import Result
from vtax.results.schema import Row, Value, number, text, whole
from vtax.results.writer import ResultWriter, TrialRecord

__all__ = [
    "FILES",
    "CapturedFrame",
    "Delivered",
    "DiskError",
    "MergedWriter",
    "Result",
    "ResultWriter",
    "Row",
    "TrialRecord",
    "Value",
    "merge",
    "number",
    "text",
    "whole",
]
