"""The texts that vtax shows to a user follow tests/helpers/words.py, which has the patterns."""

import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
import pytest
import typer.main
import yaml
from rich.console import Console

from tests.helpers.paths import ROOT
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import blocks
from tests.helpers.words import offences, printed, prose, shown
from vtax import views
from vtax.cli import app
from vtax.views.console import print_summary

PACKAGE = ROOT / "vtax"


@pytest.mark.parametrize(
    ("refused", "better"),
    [
        ("What of each was run where", "Test status by platform"),
        (
            "They take no absolute value for another machine's",
            "Absolute values do not transfer to other machines",
        ),
        ("their values say nothing of KVM", "they do not indicate KVM performance"),
        ("the machine below stole time", "the hypervisor below took CPU time (steal)"),
        ("Largest mean; the interval allows for picking it.", "Highest mean, corrected for selection."),
        ("shows no difference beyond ±5.23 µs", "+2.29 µs, not significant (−0.64 to +5.23)"),
        ("On the thin diagonal all that is offered arrives.", "Thin diagonal: no loss."),
        ("Overload: not both carried it in full.", "Overload: at least one platform lost frames."),
        ("100 with fewer than 8 campaigns and so not asked", "100 series skipped: fewer than 8 campaigns"),
        ("repeats no paper that has claims", "this scenario does not reproduce a paper"),
        ('key "workload" again; it stands at line 3', 'duplicate key "workload", first defined at line 3'),
        ("without this file the next run tries again", "delete this file to test KVM again"),
        ("How much longer has a host a packet?", "How does the host's packet delay grow?"),
        ("one that dies is told of with its last words", "if one dies, vtax reports its last output"),
        ("it takes all rights from itself", "it drops all capabilities"),
        ("lost ones count as beyond all others", "lost probes count as later than any received one"),
        ("The same of bulk streams.", "Return the goodput of each bulk stream, in Mbit/s."),
        ("What this machine can measure", "What can this machine measure?"),
        ("Hatched: emulated CPU, thinly where limited.", "Hatched: emulated CPU. Light hatching: limited."),
        ("nearly all of it is that a thread used more", "Main cause: a thread used more"),
        ("which not both carried in full", "at least one platform lost frames"),
        ("There the link set the load.", "The link set the load."),
        ("A block is what a testbed has", "Distribute work across testbeds by block"),
        ("1 of 2 lost something for certain", "Significant loss in 1 of 2"),
        ("word " * 26, "word " * 25),
    ],
)
def test_a_pattern_refuses_what_it_names_and_not_what_is_better(refused: str, better: str) -> None:
    assert list(offences(refused)) != []
    assert list(offences(better)) == []


def helps(command: click.Command, name: str = "vtax") -> Iterator[tuple[str, list[str]]]:
    """Each command's texts under `--help`."""
    options = (getattr(parameter, "help", None) for parameter in command.params)
    yield name, [text for text in (command.help, *options) if text]
    for sub in getattr(command, "commands", {}).values():
        yield from helps(sub, f"{name} {sub.name}")


def refused(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return each text that has what vtax does not write, with the finding."""
    return {text: found for text in texts if (found := list(offences(text)))}


HELPS = dict(helps(typer.main.get_command(app)))


@pytest.mark.parametrize("command", HELPS)
def test_the_help_of_a_command(command: str) -> None:
    assert refused(HELPS[command]) == {}


@pytest.mark.parametrize("kind", ["scenarios", "platforms"])
def test_titles_and_questions(kind: str) -> None:
    documents = [yaml.safe_load(path.read_text()) for path in (PACKAGE / "data" / kind).rglob("*.yaml")]
    texts = [
        document[key]
        for document in documents
        for key in ("title", "question", "untried")
        if isinstance(document, dict) and key in document
    ]
    assert len(texts) > 20
    assert refused(texts) == {}


@pytest.mark.parametrize("package", ["campaign", "commands", "doctor", "views"])
def test_what_a_package_prints(package: str) -> None:
    modules = sorted((PACKAGE / package).rglob("*.py"))
    texts = [text for module in modules for text in printed(module)]
    assert len(texts) > 20
    assert refused(texts) == {}


@pytest.mark.parametrize("module", ["cli", "listing", "output", "terminal", "text_table", "__main__"])
def test_what_a_module_prints(module: str) -> None:
    assert refused(printed(PACKAGE / f"{module}.py")) == {}


def test_the_templates_of_the_report() -> None:
    templates = PACKAGE / "views" / "templates"
    texts = [text for template in templates.glob("*.html") for text in shown(template)]
    for script in templates.glob("*.js"):
        texts += re.findall(r'"([^"\n]* [^"\n]*)"', script.read_text())
    assert len(texts) > 50
    assert refused(texts) == {}


def test_what_the_demo_prints(tmp_path: Path) -> None:
    """Two native platforms with a cost, and emulated ones: what the strings of modules become when joined."""
    trials = [
        *blocks([90.0, 91.0], platform="raw"),
        *blocks([50.0, 51.0], platform="container"),
        *blocks([5.0, 6.0], platform="qemu-virtio", emulated=True),
    ]
    result = make(tmp_path / "result", trials, shared_core=True)
    summary = views.summarise(result)
    assert len(summary.sentences) == 3 and summary.diagnosis.findings
    print_summary(summary, Console(file=(stream := io.StringIO()), width=10_000))
    texts = [sentence.text for sentence in summary.sentences] + [each.text for each in summary.caveats]
    texts += [text for finding in summary.diagnosis.findings for text in (finding.text, *finding.further)]
    assert refused([summary.diagnosis.counts, *texts, *stream.getvalue().splitlines()]) == {}


def test_the_readme() -> None:
    readme = ROOT / "README.md"
    assert refused(prose(readme)) == {}
    assert max(map(len, readme.read_text().splitlines())) <= 120


PLANTED = "nothing tells whose it was"


@pytest.mark.parametrize(
    ("read", "name", "text"),
    [
        (printed, "a.py", f'def f() -> str:\n    return "{PLANTED}"\n'),
        (printed, "a.py", f'def f(x: int) -> str:\n    return f"{{x}}: {PLANTED}"\n'),
        (shown, "a.html", f"<p>{{% if x %}}{PLANTED}{{% endif %}}</p>"),
        (shown, "a.html", f'<table aria-label="{PLANTED}"></table>'),
        (prose, "A.md", f"# Title\n\n- one\n- {PLANTED}\n"),
        (prose, "A.md", f"    vtax doctor  # {PLANTED}\n"),
    ],
)
def test_a_planted_text_is_found(
    read: Callable[[Path], Iterator[str]], name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    assert [found for found in refused(read(tmp_path / name)) if PLANTED in found]


def test_docstrings_and_queries_are_not_printed(tmp_path: Path) -> None:
    (module := tmp_path / "a.py").write_text(f'"""{PLANTED}"""\nQUERY = "SELECT told FROM a"\n')  # noqa: S608
    assert list(printed(module)) == []
