"""BPF programs at a place of a path, built here and put there by tc: what is planted on frames."""

import contextlib
import json
import platform
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from vtax.machine.namespace import Namespace

Key = TypeVar("Key")
Value = TypeVar("Value")


def built(source: Path, definitions: Mapping[str, int], directory: Path) -> Path:
    """Compile a program, with constants, into a file of `directory`; once for the same."""
    program = directory / "-".join([source.name, *map(str, definitions.values()), "o"])
    if program.exists():
        return program
    options = [f"-D{name}={value}" for name, value in definitions.items()]
    options.append(f"-I/usr/include/{platform.machine()}-linux-gnu")  # asm/types.h
    wanted = ["-target", "bpf", "-O2", "-g", "-Wall", "-Werror"]
    run("clang", *wanted, *options, "-c", str(source), "-o", str(program))
    return program


@contextlib.contextmanager
def classified(namespace: Namespace, interface: str) -> Iterator[None]:
    """Have an interface take programs while the block lasts; all of them go with it."""
    tc(namespace, "qdisc", "add", "dev", interface, "clsact")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # the interface itself may be gone
            tc(namespace, "qdisc", "del", "dev", interface, "clsact")


def attach(namespace: Namespace, interface: str, direction: str, program: Path, section: str) -> int:
    """Put a section of a program at the ingress or egress of an interface that takes programs; returns its id."""
    bpf = ["bpf", "direct-action", "object-file", str(program), "section", section]
    tc(namespace, "filter", "add", "dev", interface, direction, *bpf)
    shown = json.loads(tc(namespace, "-j", "filter", "show", "dev", interface, direction))
    (number,) = (entry["options"]["prog"]["id"] for entry in shown if "options" in entry)
    return int(number)


def maps_of(program: int) -> dict[str, int]:
    """Return the ids of a loaded program's maps by their names."""
    maps = json.loads(run("bpftool", "-j", "prog", "show", "id", f"{program}"))["map_ids"]
    return {
        json.loads(run("bpftool", "-j", "map", "show", "id", f"{each}"))["name"]: int(each) for each in maps
    }


class _Formatted(Struct, Generic[Key, Value], frozen=True):
    key: Key
    value: Value


class _Entry(Struct, Generic[Key, Value], frozen=True):
    """An entry of a map whose types bpftool knows."""

    formatted: _Formatted[Key, Value]


def entries(number: int, kind: type[Value]) -> dict[int, Value]:
    """Return the values of a map by their keys, which are numbers."""
    dump = run("bpftool", "-j", "map", "dump", "id", f"{number}")
    found = msgspec.json.decode(dump, type=list[_Entry[int, kind]])  # type: ignore[valid-type]
    return {entry.formatted.key: entry.formatted.value for entry in found}


def values(number: int, kind: type[Value]) -> list[Value]:
    """Return the values of an array in their order."""
    return [*entries(number, kind).values()]


def tc(namespace: Namespace, *arguments: str) -> str:
    """Carry out tc in a namespace; returns what it printed."""
    return run("nsenter", f"--net={namespace.path}", "--", "tc", *arguments)


def run(*command: str) -> str:
    """Carry out a command; returns what it printed. Raises OSError with its last words where it fails."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
