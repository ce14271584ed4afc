"""The words that vtax's texts avoid, with what to write instead."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

LONGEST_SENTENCE_WORDS = 25

REPORT = "report, show, record, return, mean or indicate"
REFUSED: dict[str, str] = {
    r"\b(tell|tells|telling|told)\b": REPORT,
    r"\b(say|says|saying|said)\b": REPORT,
    r"\b(is|are) hidden\b": "cannot be measured",
    r"\bshows? no difference beyond\b": "not significant, with the interval",
    r"\bwhat (of|each|one|a run)\b": "the field's noun, as in: test status by platform",
    r"\b(take|takes|taken) no absolute value\b": "absolute values do not transfer to other machines",
    r"\bis written down\b": "is recorded",
    r"\b(the )?machine below\b": "the hypervisor below",
    r"\ballows? for picking\b": "corrected for selection",
    r"\ball that is offered\b": "no loss",
    r"\b(not both|both not|not all) (of them )?carr(y|ied) it\b": "at least one platform lost frames",
    r"\bnearly all of it is\b": "main cause: ...",
    r"\band so (is |are )?not asked\b": "skipped: ...",
    r"\brepeats no paper\b": "does not reproduce a paper",
    r"\b(it|they) stands? at\b": "first defined at",
    r"\bwithout this file\b": "delete this file to ...",
    r"\bhow (much )?longe?r? has\b": "where does ... spend its time; how does ... delay grow",
    r"\bits last words?\b": "its last output",
    r"\b(from|of) (itself|themselves) all rights\b|\ball rights from (itself|themselves)\b": "drops all capabilities",
    r"\bof which nothing\b": "that could not be attributed",
    r"\bcounts? as beyond all others\b": "count as later than any received one",
    r"\bcounters? that saw\b": "counter",
    r"\blooks? at the clock\b": "the timed section",
    r"\bthe same of\b": "return ...",
    r"\bnot to be (trusted|traced|measured|known)\b": "cannot be ...",
}
"""Patterns, whatever their case, and what takes their place."""

CLAUSE = re.compile(r"^(what|where|whether|which|who|how|why)\b", re.IGNORECASE)
"""How a text begins that is a clause without its sentence, unless it asks."""


def offences(text: str) -> Iterator[str]:
    """What a text has that vtax does not write, each with what to write instead."""
    for pattern, instead in REFUSED.items():
        for found in re.finditer(pattern, text, re.IGNORECASE):
            yield f"{found[0]!r}: write {instead}"
    if CLAUSE.match(text) and not text.rstrip().endswith("?"):
        yield f"begins with {text.split(maxsplit=1)[0]!r}: write a noun or a verb, or ask"
    for sentence in re.split(r"(?<=[.?!;:])\s+", text):
        if (words := len(sentence.split())) > LONGEST_SENTENCE_WORDS:
            yield f"{words} words in a row, more than {LONGEST_SENTENCE_WORDS}: {sentence}"


def printed(module: Path) -> Iterator[str]:
    """The strings of a module that are no docstring; of one with values in it, its parts as one."""
    tree = ast.parse(module.read_text())
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            inner.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value
