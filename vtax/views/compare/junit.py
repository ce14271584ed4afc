"""A comparison as a JUnit file, which continuous integration reads: a test a cell and metric."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, tostring

from vtax.views.compare import Comparison, Verdict
from vtax.views.compare.changes import CellChange
from vtax.views.compare.table import change_text

_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def comparison_junit(compared: Comparison) -> bytes:
    """Failed is what breaks a rule, or without rules what is worse; skipped, what there is not enough data on."""
    broken = {id(found.change): found.rule.text for found in compared.broken}
    failures: dict[int, str] = (
        broken
        if compared.rules
        else {id(change): "worse" for change in compared.changes if change.verdict is Verdict.WORSE}
    )
    unknown = [
        change
        for change in compared.changes
        if change.verdict is Verdict.UNKNOWN and id(change) not in failures
    ]
    suite = Element(
        "testsuite",
        name=_xml(f"vtax compare {compared.a} {compared.b}"),
        tests=str(len(compared.changes)),
        failures=str(len(failures)),
        skipped=str(len(unknown)),
    )
    for change in compared.changes:
        case = SubElement(suite, "testcase", classname=_xml(change.cell), name=change.metric.name)
        if id(change) in failures:
            SubElement(case, "failure", message=_xml(failures[id(change)])).text = _said(change)
        elif change.verdict is Verdict.UNKNOWN:
            SubElement(case, "skipped", message=_xml(f"{change.verdict}: {change.note}"))
        else:
            SubElement(case, "system-out").text = _said(change)
    return bytes(tostring(suite, encoding="utf-8", xml_declaration=True))


def _said(change: CellChange) -> str:
    return _xml(f"{change.metric.name} {change_text(change)}: {change.verdict}")


def _xml(text: str) -> str:
    """Text without the characters that XML 1.0 has no way to write."""
    return _NOT_XML.sub("\ufffd", text)
