"""Documents with positions: what is read, what is refused, and where the refusal points."""

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from vtax.inputs import Document, InputError, read_document, scalar, suggestion, validate
from vtax.inputs.document import MAX_BYTES, MAX_DEPTH


def write(directory: Path, text: str | bytes) -> Path:
    path = directory / "input.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(directory: Path, text: str | bytes) -> str:
    """What is said about `text`, without the directory."""
    path = write(directory, text)
    with pytest.raises(InputError) as caught:
        read_document(path)
    return str(caught.value).replace(f"{directory}/", "")


def test_every_value_knows_its_line(tmp_path: Path) -> None:
    document = read_document(write(tmp_path, "a: 1\nb:\n  c:\n    - x\n    - y\n"))
    assert document.data == {"a": 1, "b": {"c": ["x", "y"]}}
    assert document.where(("b", "c", 1)) == f"{document.path}:5"
    assert document.where(("b", "c")) == f"{document.path}:3"
    assert document.where(("b", "missing", "deeper")) == f"{document.path}:2"
    assert document.where(("missing",)) == f"{document.path}:1"


def test_who_reads_again_has_what_the_file_holds_by_then(tmp_path: Path) -> None:
    """Whatever the reader before did with what it got."""
    path = write(tmp_path, "a: [1]")
    read_document(path).data["a"] = 2
    assert read_document(path).data == {"a": [1]}
    assert read_document(write(tmp_path, "a: 3")).data == {"a": 3}


def test_scalars_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    text = "[on, no, 1e3, 0x10, 1:30, 007, 2020-01-01, .inf, -1.5, true, ~, '5', ]"
    document = read_document(write(tmp_path, f"values: {text}"))
    expected = ["on", "no", 1000.0, "0x10", "1:30", 7, "2020-01-01", ".inf", -1.5, True, None, "5"]
    assert document.data["values"] == expected
    assert [type(value) for value in document.data["values"]] == [type(value) for value in expected]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", 'input.yaml:3: key "a" again; it stands at input.yaml:1'),
        ("a: &x 1\nb: *x\n", "input.yaml:2: not readable as YAML: aliases are not allowed"),
        ('"a\\n": 1\n"a\\n": 2\n', 'input.yaml:2: key "a\\n" again'),
        ("a: 1\n1: 2\n", "input.yaml:2: a key must be text"),
        ("a: 1\n? [b]\n: 2\n", "input.yaml:2: a key must be text"),
        ("a:\n  - !!python/name:os.system x\n", "input.yaml:2: tag"),
        ("a: !!int x\n", "input.yaml:1: invalid literal"),
        ("a: !other {}\n", "input.yaml:1: tag !other is not allowed"),
        ("!!str {a: b}\n", "input.yaml:1: tag tag:yaml.org,2002:str is not allowed"),
        ("a: !!str {b: c}\n", "input.yaml:1: tag tag:yaml.org,2002:str is not allowed"),
        ("a: !!int [1]\n", "input.yaml:1: tag tag:yaml.org,2002:int is not allowed"),
        ("a: 99999999999999999999\n", "input.yaml:1: 99999999999999999999 does not fit into 64 bits"),
        ("a: 1e999\n", "input.yaml:1: 1e999 is too large a number"),
        ("a: 1\n\tb: 2\n", "input.yaml:2: not readable as YAML"),
        ("a: 1\n---\nb: 2\n", "input.yaml:2: not readable as YAML"),
        ("", "input.yaml:1: a mapping is expected"),
        ("- a\n", "input.yaml:1: a mapping is expected"),
        ("\na: \x01\n", "input.yaml:2: not readable as YAML: control characters"),
        ('a: 1\nb: "\\UFFFFFFFF"\n', "input.yaml:2: not readable as YAML"),
        ('a: "\\uD800"\n', "input.yaml:1: text holds half of a surrogate pair"),
        (b"a: 1\nb: \xff\n", "input.yaml:2: not UTF-8 text"),
        ("a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH, "nested deeper than"),
        (b"#" * (MAX_BYTES + 1), "input.yaml: larger than"),
    ],
)
def test_what_is_refused_and_where(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert said in refusal(tmp_path, text)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml: cannot be read: No such file"):
        read_document(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_document(tmp_path)


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    duration_s: float = Field(1.0, gt=0, le=60)
    frame_bytes: int = Field(64, ge=64)
    on: bool = False


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    inner: Inner
    colour: Literal["red", "green"] = Field("red", description="the paint")
    names: list[str] = []
    needed: str = Field("x", description="what is needed")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "inner:\n  duration: 5\n",
            'input.yaml:2: inner.duration: unknown key "duration"; did you mean "duration_s"?',
        ),
        ("inner: {}\nduration_s: 5\n", 'unknown key "duration_s"; did you mean "inner.duration_s"?'),
        ("inner:\n  duration_s: 5s\n", '"5s" is not a number of seconds; the unit stands in the key'),
        (
            "inner:\n  duration_s: soon\n",
            '"soon" is not a number of seconds; allowed: more than 0, at most 60',
        ),
        (
            "inner:\n  duration_s: 61\n",
            "input.yaml:2: inner.duration_s: 61 is too large; allowed: more than 0",
        ),
        ("inner:\n  frame_bytes: 64.5\n", "64.5 is not a whole number of bytes; allowed: at least 64"),
        ("inner:\n  frame_bytes: true\n", "true is not a whole number of bytes"),
        ("inner:\n  on: yes\n", '"yes" is neither true nor false'),
        ('inner: {}\n"\\e[2J\\n": 1\n', 'input.yaml:2: \\x1b[2J\\n: unknown key "\\x1b[2J\\n"; allowed'),
        ("inner: 3\n", "input.yaml:1: inner: 3 is not a mapping"),
        ("colour: red\n", 'input.yaml:1: key "inner" is missing'),
        ("inner: {}\ncolour: gren\n", '"gren" is not allowed; did you mean "green"? allowed: red, green'),
        ("inner: {}\nnames: a\n", '"a" is not a list'),
        ("inner: {}\nnames: [a,\n 3.3]\n", "input.yaml:3: names: 3.3 is not text; put it in quotes"),
    ],
)
def test_a_models_verdict_in_the_files_terms(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        validate(Outer, read_document(write(tmp_path, text)))
    assert said in str(caught.value)


def test_every_problem_is_named_on_a_line_of_its_own(tmp_path: Path) -> None:
    document = read_document(write(tmp_path, "inner:\n  frame_bytes: 1\ncolour: blue\n"))
    with pytest.raises(InputError) as caught:
        validate(Outer, document)
    assert [line.split(":")[1] for line in str(caught.value).splitlines()] == ["2", "3"]


def test_the_first_problems_stand_for_a_flood_of_them(tmp_path: Path) -> None:
    document = read_document(write(tmp_path, "inner: {}\n" + "".join(f"k{n}: 1\n" for n in range(100))))
    with pytest.raises(InputError) as caught:
        validate(Outer, document)
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == f"{document.path}: 80 problems more"


def test_a_part_of_a_document(tmp_path: Path) -> None:
    document = read_document(write(tmp_path, "kept:\n  frame_bytes: 9\n"))
    with pytest.raises(InputError, match=r"input\.yaml:2: kept\.frame_bytes: 9 is too small"):
        validate(Inner, document, at=("kept",))
    assert validate(Inner, document, data={"frame_bytes": 65}, at=("kept",)).frame_bytes == 65


def test_a_value_of_another_origin_replaces_the_files() -> None:
    document = Document(Path("f"), {"a": {"b": [1]}}, {("a", "b"): "f:1", ("a", "b", 0): "f:2"})
    changed = document.with_value(("a", "b"), [2], "--set b=2").with_value(("c", "d"), 3, "--set d=3")
    assert changed.data == {"a": {"b": [2]}, "c": {"d": 3}}
    assert changed.where(("a", "b", 0)) == "--set b=2"
    assert changed.without(("a", "b")).data == {"a": {}, "c": {"d": 3}}
    assert changed.without(("x", "y")).data == changed.data
    assert document.data == {"a": {"b": [1]}}


def test_suggestions() -> None:
    assert suggestion("Streems", ["streams", "mtu"]) == 'did you mean "streams"?'
    assert suggestion("zzz", ["streams", "mtu"]) == ""


PLAIN = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
)


@given(PLAIN)
def test_scalars_of_the_command_line_are_those_of_files(value: float) -> None:
    assert scalar(str(value)) == value
    assert type(scalar(str(value))) is type(value)


@given(
    st.one_of(
        st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
    )
)
def test_no_file_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = write(tmp_path_factory.getbasetemp(), content)
    try:
        document = read_document(path)
    except InputError as error:
        assert str(error).startswith(str(path))
    else:
        assert isinstance(document.data, dict)
