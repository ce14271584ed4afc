"""Commands that a test puts before the machine's own, where the fixture `commands` is."""

from pathlib import Path


def command(directory: Path, name: str, script: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


KNOWN = 'case "$*" in indextargets*) echo "Debian $(. /etc/os-release; echo $VERSION_CODENAME) /nowhere";;'
