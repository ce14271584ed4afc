"""Commands that a test puts before the machine's own, where the fixture `commands` is."""

from pathlib import Path


def command(directory: Path, name: str, script: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


KNOWN = 'case "$*" in indextargets*) echo "Debian $(. /etc/os-release; echo $VERSION_CODENAME) /nowhere";;'


def gives_away(debs: Path) -> str:
    """The part of an apt-get that has archives to give away, and lists with their hashes."""
    uri = "printf \"'file:%s' %s 1 SHA256:%s\\n\" $f $f $(sha256sum $f | cut -d' ' -f1)"
    return f"*--print-uris*) cd {debs} && for f in *.deb; do {uri}; done;; *download*) cp {debs}/*.deb .;;"
