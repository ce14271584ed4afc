"""All claims as Markdown, for docs/claims.md: `python -m vtax.views.claims.describe`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from vtax.views.claims.load import load_claims, papers
from vtax.views.claims.table import in_words
from vtax.views.markdown import escaped


def describe(paper: str) -> Iterator[str]:
    """Yield the Markdown lines of a paper's claims: what each says and where, of whom, and what is tested."""
    yield f"### {paper}"
    yield ""
    yield "| claim | finding | where | platforms | scenario | holds where |"
    yield "|---|---|---|---|---|---|"
    for claim in load_claims(paper):
        file = claim.file
        cells = (
            file.says,
            file.where,
            str(file.platforms),
            ", ".join(file.scenarios),
            in_words(file.test),
        )
        yield f"| `{claim.name}` | {' | '.join(map(escaped, cells))} |"
    yield ""


def describe_all() -> str:
    """Return the Markdown of all papers' claims."""
    return "\n".join(line for paper in papers() for line in describe(paper))


if __name__ == "__main__":
    sys.stdout.write(describe_all() + "\n")
