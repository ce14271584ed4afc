"""The wheel's software bill of materials: CycloneDX 1.6 as JSON, beside the wheel's metadata as PEP 770 has it."""

import datetime
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from scripts.supply.crates import Crate
from scripts.supply.wheels import Package

SPECIFICATION = "1.6"
NAMESPACE = uuid.UUID("1b7a7f0e-9a53-4f0e-8a35-5a1f0d1f7c11")
"""Of the serial numbers: the same content has the same one."""
LICENCE = "Apache-2.0"
COMPILED_IN = {
    "elfutils": ("elfutils/configure.ac", r"AC_INIT\(\[elfutils\],\[([0-9.]+)\]"),
    "zlib": ("zlib/zlib.h", r'#define ZLIB_VERSION "([0-9.]+)"'),
}
"""Libraries in C that libbpf-sys has within its sources: where their versions are."""
BINDINGS = "libbpf-sys"


@dataclass(frozen=True)
class Toolchain:
    """What each Rust program has in it beside its crates, by versions."""

    rust: str
    libc: str


class Licence(TypedDict):
    """By an SPDX expression."""

    expression: str


class Hash(TypedDict):
    """Of an archive that comes from a registry."""

    alg: str
    content: str


Component = TypedDict(
    "Component",
    {
        "type": str,
        "bom-ref": str,
        "name": str,
        "version": str,
        "purl": str,
        "licenses": list[Licence],
        "hashes": list[Hash],
    },
    total=False,
)


class Dependency(TypedDict):
    """What a component needs, by references."""

    ref: str
    dependsOn: list[str]


def bill(
    version: str,
    crates: Sequence[Crate],
    checksums: Mapping[tuple[str, str], str],
    packages: Sequence[Package],
    toolchain: Toolchain,
    made_at: int,
) -> str:
    """Return the document: vtax, its agent with all that is compiled into it, and the packages that vtax imports.

    The first of the crates is the agent's own; `made_at` is in seconds since 1970.
    """
    vtax = _component("application", "vtax", version, f"pkg:pypi/vtax@{version}", LICENCE)
    agent, *others = (_of_crate(crate, checksums) for crate in crates)
    agent["type"] = "application"
    references = {crate.id: _purl(crate) for crate in crates}
    bindings = next(crate for crate in crates if crate.name == BINDINGS)
    compiled_in = [
        _library(name, _version(bindings.directory, *where)) for name, where in COMPILED_IN.items()
    ]
    below = [_library("rust", toolchain.rust), _library("glibc", toolchain.libc)]
    imported = [
        _component("library", each.name, each.version, f"pkg:pypi/{each.name}@{each.version}")
        for each in packages
    ]
    depends_on = {_purl(crate): [references[each] for each in crate.depends_on] for crate in crates}
    depends_on[agent["bom-ref"]] += _references(below)
    depends_on[_purl(bindings)] += _references(compiled_in)
    depends_on[vtax["bom-ref"]] = [agent["bom-ref"], *_references(imported)]
    body = {
        "components": [agent, *others, *compiled_in, *below, *imported],
        "dependencies": [Dependency(ref=ref, dependsOn=sorted(needed)) for ref, needed in depends_on.items()],
    }
    identity = uuid.uuid5(NAMESPACE, json.dumps([vtax, body]))
    document = {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "serialNumber": f"urn:uuid:{identity}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(made_at, datetime.UTC).isoformat(),
            "component": vtax,
        },
        **body,
    }
    return json.dumps(document, indent=1) + "\n"


def _of_crate(crate: Crate, checksums: Mapping[tuple[str, str], str]) -> Component:
    # Older crates write / for OR.
    licence = re.sub(r"\s*/\s*", " OR ", crate.licence)
    component = _component("library", crate.name, crate.version, _purl(crate), licence)
    if crate.source is not None:
        component["hashes"] = [Hash(alg="SHA-256", content=checksums[crate.name, crate.version])]
    return component


def _purl(crate: Crate) -> str:
    return f"pkg:cargo/{crate.name}@{crate.version.replace('+', '%2B')}"


def _library(name: str, version: str) -> Component:
    return _component("library", name, version, f"pkg:generic/{name}@{version}")


def _component(kind: str, name: str, version: str, purl: str, licence: str = "") -> Component:
    component = Component({"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl})
    if licence:
        component["licenses"] = [Licence(expression=licence)]
    return component


def _references(components: Sequence[Component]) -> list[str]:
    return [component["bom-ref"] for component in components]


def _version(directory: Path, file: str, pattern: str) -> str:
    found = re.search(pattern, (directory / file).read_text())
    if found is None:
        raise ValueError(f"{file} of {directory.name} does not name a version")
    return found[1]
