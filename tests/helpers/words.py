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
    r"\bno difference (found|beyond)\b": "no significant difference, with the interval",
    r"\bwhat (of|each|one|a run|it|they)\b": "the field's noun, as in: test status by platform",
    r"\bis what (a|an|the|each)\b": "the rule itself, as in: distribute work by block",
    r"\babsolute values? for\b": "absolute values do not transfer to other machines",
    r"\bis written down\b": "is recorded",
    r"\b(the )?machine below\b": "the hypervisor below",
    r"\ballows? for (picking|having been picked|all)\b": "corrected for ...",
    r"\ball that is offered\b": "no loss",
    r"\b(not both|both not|not all) (of them )?carr(y|ied)\b": "at least one platform lost frames",
    r"\bthinly where\b": "light hatching: ...",
    r"\b(nearly all|most|part|a little) of (it|the first) is\b": "main cause: ...",
    r"\band so (is |are )?not asked\b": "skipped: ...",
    r"\brepeats no paper\b": "does not reproduce a paper",
    r"\b(it|they) stands? at\b": "first defined at",
    r"\bwithout this file\b": "delete this file to ...",
    r"\bhow (much )?longe?r? has\b": "where does ... spend its time; how does ... delay grow",
    r"\bits last words?\b": "its last output",
    r"\b(from|of) (itself|themselves) all rights\b|\ball rights from (itself|themselves)\b": "drops all capabilities",
    r"\bof which nothing\b": "that could not be attributed",
    r"\bcounts? as (delayed )?beyond all others\b": "count as later than any received one",
    r"\bcounters? that saw\b": "counter",
    r"\blooks? at the clock\b": "the timed section",
    r"\bthe same of\b": "return ...",
    r"\bnot to be (trusted|traced|measured|known|compared)\b": "cannot be ...",
    r"(^|[.!?;:] )There (?!(is|are|was|were|has|have|will|can|may)\b)": "the subject first",
    r"\bfor certain\b": "significant, with the confidence",
    r"\b(whomever|somebody|whose it was)\b": "the thread, process or owner",
    r"\bin the mean\b": "mean ..., on average",
    r"\bas (the paper|JSON) has (it|them)\b": "as in the paper",
    r"\blost sight of\b": "lost by the trace",
}
"""Patterns, whatever their case, and what takes their place."""

CLAUSE = re.compile(r"^(what|where|whether|which|who|how|why)\b", re.IGNORECASE)
"""How a text begins that is a clause without its sentence, unless it asks."""

QUERY = re.compile(r"\b(SELECT|CASE WHEN)\b")


def offences(text: str) -> Iterator[str]:
    """What a text has that vtax does not write, each with what to write instead; brackets count no words."""
    for pattern, instead in REFUSED.items():
        for found in re.finditer(pattern, text, re.IGNORECASE):
            yield f"{found[0]!r}: write {instead}"
    if CLAUSE.match(text) and not text.rstrip().endswith("?"):
        yield f"begins with {text.split(maxsplit=1)[0]!r}: write a noun or a verb, or ask"
    for sentence in re.split(r"(?<=[.?!;:])\s+|\n +", re.sub(r" ?\([^()]*\)", "", text)):
        if (words := len(sentence.split())) > LONGEST_SENTENCE_WORDS:
            yield f"{words} words in a row, more than {LONGEST_SENTENCE_WORDS}: {sentence}"


def printed(module: Path) -> Iterator[str]:
    """The strings of a module of two words or more that are no docstring and no query.

    Of one with values in it the parts come as one, with … for each value.
    """
    tree = ast.parse(module.read_text())
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            inner.add(id(node.value))
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            text = node.value
        if " " in text.strip() and not QUERY.search(text):
            yield text


def shown(template: Path) -> Iterator[str]:
    """The texts of a template between its tags, and those of its attributes that are read."""
    html = re.sub(r"(?s)\{#.*?#\}|\{%.*?%\}", "", re.sub(r"(?s)\{\{.*?\}\}", "…", template.read_text()))
    yield from re.findall(r'\b(?:aria-label|title)="([^"]*)"', html)
    yield from filter(None, (text.strip() for text in re.split(r"<[^>]*>", html)))


def prose(page: Path) -> Iterator[str]:
    """The paragraphs, items and comments of commands of a Markdown page, each on one line, without link targets."""
    text = re.sub(r"\]\([^)]*\)", "]", page.read_text())
    for block in re.split(r"\n\s*\n|\n(?=- )", text):
        if block.startswith("    "):
            yield from (line.partition("#")[2].strip() for line in block.splitlines() if "#" in line)
        else:
            yield " ".join(block.replace("\n> ", " ").split())
