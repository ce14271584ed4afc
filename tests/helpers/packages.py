"""Packages that a test makes."""

import subprocess
from collections.abc import Callable
from pathlib import Path


def build_package(name: str, scratch: Path, debs: Path, lay: Callable[[Path], None]) -> Path:
    """Make a Debian package of the files that `lay` puts into a directory, and of the scripts in its DEBIAN."""
    tree = scratch / name
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: none\n"
    )
    lay(tree)
    debs.mkdir(exist_ok=True)
    subprocess.run(["dpkg-deb", "--build", "-Znone", tree, debs], check=True, capture_output=True)
    return debs / f"{name}_1_all.deb"
