"""The part of the drawing library that a page's figures need, taken from the whole when the page is written.

The library is one script of modules that call each other where they need one another, and its last one registers every
kind of trace. Left with the kinds that a page shows, it leads to few modules, and the page goes without all others: it
is half as large, and a browser has read the library in a third of the time.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Collection, Mapping
from functools import cache

from markupsafe import Markup

from vtax.views.page import Drawn

VERSION = "4.1.1"
"""The one whose script is known to be of this form. Any other is taken as a whole."""
_WRAPPED = re.compile(
    r"(.*?)\(\s*function\(root, factory\) \{.*?\} \(typeof self [^,]*, \(\) => \{\n(.*)return Plotly;\s*\}\)\);\s*",
    re.DOTALL,
)
_MODULE = re.compile(r"(?<=[;}])var ([\w$]+)=[\w$]+\(\(?[\w$, ]*\)?=>\{")
_MODULE_END = "});"
_CALL = re.compile(r"([\w$]+)\(\)")
_REGISTERED = re.compile(r"(?<=\.register\(\[)[^\]]*(?=\]\))")
_HANDED_ON = re.compile(r"\.exports=([\w$]+)\(\)\}\);$")
_KIND = re.compile(r'moduleType:"trace",name:"(\w+)"')


def plotly_js(plots: Mapping[str, Drawn]) -> Markup:
    """The source of the library that draws these plots, as of `plot_json`, so that a browser compiles it once.

    It comes within a function, for other ways of loading it, and functions are read through before they are compiled:
    a third of the time until it can draw. The first line tells V8 not to do so with those inside it either.
    """
    return _source_of(
        frozenset(str(trace["type"]) for plot in plots.values() for trace in plot["data"]), VERSION
    )


@cache
def _source_of(kinds: frozenset[str], version: str) -> Markup:
    """The same for these kinds of traces, a part where the library is of this version."""
    package = importlib.resources.files("plotly") / "package_data" / "plotly.min.js"
    source = package.read_text(encoding="utf-8")
    if wrapped := _WRAPPED.fullmatch(source):
        source = "".join(wrapped.groups())
        if f"plotly.js v{version}\n" in wrapped[1]:
            source = part(source, kinds)
    return Markup(f"//# allFunctionsCalledOnLoad\n{source}")  # noqa: S704, the library's own source


def part(source: str, kinds: Collection[str]) -> str:
    """What of the library is called to draw these kinds of traces; all of it where one of them is not found."""
    begins = list(_MODULE.finditer(source))
    edges = [*(begin.start() for begin in begins), len(source)]
    texts = {begin[1]: source[start:end] for begin, start, end in zip(begins, edges, edges[1:], strict=False)}
    last = begins[-1][1]
    chosen = [name for name in _CALL.findall(_registered(texts[last])) if _kind(name, texts) in kinds]
    texts[last] = _REGISTERED.sub(",".join(f"{name}()" for name in chosen), texts[last], count=1)
    # What ends otherwise has more than its module in it: functions that any other may call.
    needed = {last, *(name for name, text in texts.items() if not text.endswith(_MODULE_END))}
    waiting = list(needed)
    while waiting:
        called = (texts.keys() & _CALL.findall(texts[waiting.pop()])) - needed
        needed |= called
        waiting += called
    found = source[: edges[0]] + "".join(text for name, text in texts.items() if name in needed)
    return found if set(kinds) <= set(_KIND.findall(found)) else source


def _registered(text: str) -> str:
    """The modules that the last one registers."""
    found = _REGISTERED.search(text)
    return found[0] if found else ""


def _kind(name: str, texts: Mapping[str, str]) -> str | None:
    """The kind of trace that a module is, itself or in the one that it hands on; None where it is none."""
    if told := _KIND.search(texts[name]):
        return told[1]
    handed_on = _HANDED_ON.search(texts[name])
    return _kind(handed_on[1], texts) if handed_on else None
