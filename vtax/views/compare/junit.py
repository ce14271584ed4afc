"""A comparison as a JUnit file, which continuous integration reads: a test for each cell and metric."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, tostring

from vtax.views.compare import ChangeVerdict, Comparison, Outcome
from vtax.views.compare.changes import CellChange
from vtax.views.compare.earlier import effect_line
from vtax.views.compare.rules import Judged
from vtax.views.compare.table import change_text, judged_text

_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
_COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}
"""The suite's counts, and the tag that each of them counts."""

Place = tuple[str, str, str]
"""A cell, its CPU context and a metric's name."""


def comparison_junit(compared: Comparison) -> bytes:
    """Return the file's content.

    With rules, a test that breaks one is a failure, and one that a rule cannot decide an error of the type
    `undecided`. Without rules, what is worse is a failure. All else without enough data is skipped. A campaign without
    any usable trial is an error by itself.
    """
    suite = Element("testsuite", name=_xml(f"vtax compare {compared.a} {compared.b}"))
    if compared.effect:
        line = effect_line(compared.effect, [change.scatter for change in compared.changes])
        name, _, value = line.partition(": ")
        SubElement(SubElement(suite, "properties"), "property", name=name, value=_xml(value))
    for name in compared.without_trials:
        case = _case(suite, "vtax compare", f"usable trials of {name}")
        SubElement(case, "error", type="no usable trial", message=f"no trial of {name} is usable")
    judged = _by_place(compared)
    for change in compared.changes:
        case = _case(suite, change.cell, change.metric.name)
        if found := judged.pop((change.cell, change.uut_context, change.metric.name), None):
            _judge(case, found)
        elif change.verdict is ChangeVerdict.WORSE and not compared.rules:
            SubElement(case, "failure", type="worse", message="worse").text = _text(change)
        elif change.verdict is ChangeVerdict.UNKNOWN:
            SubElement(case, "skipped", message=_xml(f"{change.verdict}: {change.note}"))
        else:
            SubElement(case, "system-out").text = _text(change)
    for (cell, _, metric), found in judged.items():
        _judge(_case(suite, cell, metric), found)
    suite.set("tests", str(len(suite.findall("testcase"))))
    for count, tag in _COUNTS.items():
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    return bytes(tostring(suite, encoding="utf-8", xml_declaration=True))


def _by_place(compared: Comparison) -> dict[Place, list[Judged]]:
    """The verdicts of all rules on each cell and metric."""
    found: dict[Place, list[Judged]] = {}
    for one in compared.judged:
        found.setdefault((one.cell, one.uut_context, one.rule.metric.name), []).append(one)
    return found


def _judge(case: Element, found: list[Judged]) -> None:
    """Make a test of what the rules say of its cell and metric: the worst of their verdicts."""
    worst = next(outcome for outcome in Outcome if any(one.outcome is outcome for one in found))
    named = [one for one in found if one.outcome is worst]
    rules = _xml(", ".join(one.rule.text for one in named))
    text = _xml("\n".join(f"{one.rule.text}: {judged_text(one)}" for one in named))
    if worst is Outcome.PASSED:
        SubElement(case, "system-out").text = text
    else:
        tag = "failure" if worst is Outcome.BROKEN else "error"
        SubElement(case, tag, type=str(worst), message=f"{worst}: {rules}").text = text


def _case(suite: Element, cell: str, metric: str) -> Element:
    return SubElement(suite, "testcase", classname=_xml(cell), name=metric)


def _text(change: CellChange) -> str:
    return _xml(f"{change.metric.name} {change_text(change)}: {change.verdict}")


def _xml(text: str) -> str:
    """Text without the characters that XML 1.0 has no way to write."""
    return _NOT_XML.sub("\ufffd", text)
