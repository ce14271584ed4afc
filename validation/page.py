"""docs/validation.md, out of the sections."""

from collections.abc import Sequence

from validation.section import Check, Section

HEAD = """# Validation

What vtax claims of its own numbers, held against what is known to be true. `make validate` measures all of it
and writes this page.

"""


def page(facts: str, sections: Sequence[Section], head: str = HEAD) -> str:
    """The page as Markdown; `facts` says on what machine and when."""
    return head + facts + "\n" + "\n".join(map(_section, sections))


def _section(section: Section) -> str:
    rows = "".join(
        f"| {check.what} | {check.measured} | {check.bound} | {_verdict(check)} |\n"
        for check in section.checks
    )
    notes = "".join(
        f"\n*{check.what}*: {check.explanation}\n" for check in section.checks if check.explanation
    )
    return (
        f"## {section.title}\n\n{section.text.strip()}\n\n"
        f"| what | measured | must hold | |\n|---|---|---|---|\n{rows}{notes}"
    )


def _verdict(check: Check) -> str:
    if check.holds:
        return "holds"
    return "missed, see below" if check.explanation else "**missed**"
