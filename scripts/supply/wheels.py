"""Python's packages: what the locks name, and the licences of those that are installed."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from scripts.supply.policy import Policy, permits

PINNED = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)((?: --hash=sha256:[0-9a-f]{64})+)$")
EXCEPTIONS: Mapping[str, str] = {
    "asyncssh": "EPL-2.0 OR GPL-2.0-or-later",
    "diptest": "GPL-2.0-or-later",
    "hypothesis": "MPL-2.0",
    "pathspec": "MPL-2.0",
}
"""Used unchanged and from its registry; no file of theirs is in the wheel. Another licence of theirs is asked about."""
SPELLINGS = {
    "apache 2.0": "Apache-2.0",
    "apache license": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-2-Clause OR BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd license": "BSD-2-Clause OR BSD-3-Clause",
    "gplv2+": "GPL-2.0-or-later",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "the mit license (mit)": "MIT",
}
"""What packages without an SPDX expression write."""
CLASSIFIER = "License :: OSI Approved :: "


@dataclass(frozen=True)
class Package:
    """A package in the version that a lock names."""

    name: str
    version: str


def locked(lock: str) -> list[Package]:
    """Read a lock. Raises ValueError for whatever is not NAME==VERSION with its hashes: an address, an option."""
    lines = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^\s*#.*$", "", lock)).splitlines()
    packages: list[Package] = []
    for line in filter(None, map(str.strip, lines)):
        found = PINNED.match(line)
        if found is None:
            raise ValueError(f"{line!r} is no name, version and hashes")
        packages.append(Package(found[1], found[2]))
    return packages


def lock_problems(root: Path) -> Iterator[str]:
    """Say which locks have what is not a version with its hashes."""
    for path in sorted(root.glob("requirements*.lock")):
        try:
            locked(path.read_text())
        except ValueError as error:
            yield f"{path.name}: {error}"


def installed_of(names: Collection[str]) -> Iterator[Distribution]:
    """Return those of the packages that are installed here: one for another Python or system is not."""
    return (each for each in distributions() if re.sub(r"[-_.]+", "-", each.name).lower() in names)


def licence_of(distribution: Distribution) -> str:
    """Return an SPDX expression, or what the package writes where that is unknown; empty where it writes nothing."""
    metadata = distribution.metadata
    expressions = metadata.get_all("License-Expression") or []
    classified = [
        each.removeprefix(CLASSIFIER)
        for each in metadata.get_all("Classifier") or []
        if each.startswith(CLASSIFIER)
    ]
    stated = [
        text.strip().removeprefix(CLASSIFIER).splitlines()[0]
        for text in metadata.get_all("License") or []
        if text
    ]
    written = next(iter([*expressions, *classified, *stated]), "").strip()
    return SPELLINGS.get(written.lower(), written)


def licence_problems(
    policy: Policy,
    installed: Iterable[Distribution],
    exceptions: Mapping[str, str] = EXCEPTIONS,
) -> Iterator[str]:
    """Say which packages have a licence that is not allowed."""
    for distribution in installed:
        licence = licence_of(distribution)
        if exceptions.get(distribution.name) == licence:
            continue
        try:
            allowed = permits(licence, policy.licences)
        except ValueError:
            allowed = False
        if not allowed:
            yield f"package {distribution.name}: licence {licence or 'unknown'} is not allowed"
