"""The agent's crates, as `cargo metadata` and Cargo.lock know them. It needs the standard library alone."""

import json
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from scripts.supply.policy import Policy, permits

LOCK = "agent/Cargo.lock"
BUILT_IN = (None,)
"""The kind of the dependencies that become part of the agent, as cargo has it."""
BUILT_WITH = (None, "build")
ALL = (None, "build", "dev")


@dataclass(frozen=True)
class Crate:
    """A crate in one version; what it depends on is named by ids."""

    id: str
    name: str
    version: str
    licence: str
    source: str | None
    """None for the agent's own."""
    directory: Path
    depends_on: tuple[str, ...]


class _Package(TypedDict):
    id: str
    name: str
    version: str
    license: str | None
    source: str | None
    manifest_path: str


class _Kind(TypedDict):
    kind: str | None


class _Dependency(TypedDict):
    pkg: str
    dep_kinds: list[_Kind]


class _Node(TypedDict):
    id: str
    deps: list[_Dependency]


class _Resolved(TypedDict):
    root: str
    nodes: list[_Node]


class _Metadata(TypedDict):
    packages: list[_Package]
    resolve: _Resolved


class _Locked(TypedDict, total=False):
    name: str
    version: str
    source: str
    checksum: str


def reached(metadata: str, kinds: Collection[str | None] = ALL) -> list[Crate]:
    """Return the agent, then each crate of `cargo metadata` that is needed by dependencies of these kinds."""
    document: _Metadata = json.loads(metadata)
    packages = {package["id"]: package for package in document["packages"]}
    needs = {node["id"]: _needed(node, kinds) for node in document["resolve"]["nodes"]}
    root = document["resolve"]["root"]
    found: dict[str, Crate] = {}
    left = [root]
    while left:
        if (name := left.pop()) not in found:
            found[name] = _crate(packages[name], needs[name])
            left += needs[name]
    agent = found.pop(root)
    return [agent, *sorted(found.values(), key=lambda crate: (crate.name, crate.version))]


def compiled_in(metadata: str, tree: str) -> list[Crate]:
    """Return the agent, then each crate that becomes part of it.

    `tree` is what `cargo tree` prints of normal dependencies, a `NAME vVERSION` a line. It leaves out what only builds
    switch on, which `cargo metadata` cannot; the other one has licences and directories.
    """
    lines = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    crates = [crate for crate in reached(metadata, BUILT_IN) if (crate.name, f"v{crate.version}") in lines]
    known = {crate.id for crate in crates}
    return [
        replace(crate, depends_on=tuple(each for each in crate.depends_on if each in known))
        for crate in crates
    ]


def _needed(node: _Node, kinds: Collection[str | None]) -> tuple[str, ...]:
    return tuple(
        each["pkg"] for each in node["deps"] if any(kind["kind"] in kinds for kind in each["dep_kinds"])
    )


def _crate(package: _Package, needs: tuple[str, ...]) -> Crate:
    return Crate(
        package["id"],
        package["name"],
        package["version"],
        package["license"] or "",
        package["source"],
        Path(package["manifest_path"]).parent,
        needs,
    )


def graph_problems(metadata: str, policy: Policy) -> Iterator[str]:
    """Say which crates have a licence that is not allowed, or are there in several versions, but for tests."""
    for crate in reached(metadata):
        if not crate.licence or not permits(crate.licence, policy.licences):
            yield f"crate {crate.name} {crate.version}: licence {crate.licence or 'unknown'} is not allowed"
    for name, times in Counter(crate.name for crate in reached(metadata, BUILT_WITH)).items():
        if times > 1 and name not in policy.in_several_versions:
            yield f"crate {name}: it is there in {times} versions"


def lock_problems(lock: str, policy: Policy) -> Iterator[str]:
    """Say what Cargo.lock has that is not allowed: other sources, banned crates."""
    for package in _locked(lock):
        name = f"crate {package['name']} {package['version']}"
        source = package.get("source")
        if source is None:
            if package["name"] != "vtax-agent":
                yield f"{name}: it comes from a directory"
        elif source.removeprefix("registry+") not in policy.registries:
            yield f"{name}: source {source} is not allowed"
        elif "checksum" not in package:
            yield f"{name}: it has no checksum"
        if package["name"] in policy.banned:
            yield f"{name}: it is banned"


def checksums(lock: str) -> dict[tuple[str, str], str]:
    """Return the SHA-256 of each crate's archive, by name and version."""
    return {
        (package["name"], package["version"]): package["checksum"]
        for package in _locked(lock)
        if "checksum" in package
    }


def _locked(lock: str) -> list[_Locked]:
    packages: list[_Locked] = tomllib.loads(lock)["package"]
    return packages
