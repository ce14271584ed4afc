"""bench/RESULTS.md, out of the sections."""

from collections.abc import Sequence

from bench.figure import Figure, Section

HEAD = """# Bench

vtax beside the tools that people use for the same work, each at its best, in the same run and on the same interfaces.
`make bench` measures all of it and writes this page. Values are medians (least to greatest, n); ratios are vtax over
the peer, paired within rounds, with their 95% interval. What is required must hold for the whole interval.

"""


def page(facts: str, sections: Sequence[Section]) -> str:
    """The page as Markdown; `facts` says on what machine, when, and which tools."""
    return HEAD + facts + "\n" + "\n".join(map(_section, sections))


def _section(section: Section) -> str:
    rows = "".join(map(_row, section.figures))
    notes = "".join(f"\n*{figure.name}*: {figure.note}\n" for figure in section.figures if figure.note)
    return (
        f"## {section.title}\n\n{section.text.strip()}\n\n"
        f"| figure | vtax | peer | ratio | required | |\n|---|---|---|---|---|---|\n{rows}{notes}"
    )


def _row(figure: Figure) -> str:
    cells = (figure.name, figure.ours, figure.peers, _ratio(figure), figure.required, _verdict(figure))
    return f"| {' | '.join(cells)} |\n"


def _ratio(figure: Figure) -> str:
    if figure.ratio is None:
        return ""
    if figure.low is None or figure.high is None:
        return f"{figure.ratio:.3g}"
    return f"{figure.ratio:.3g} [{figure.low:.3g}, {figure.high:.3g}]"


def _verdict(figure: Figure) -> str:
    if figure.holds is None:
        return "shown"
    if figure.holds:
        return "holds"
    return "missed, see below" if figure.note else "**missed**"
