"""Check what vtax is made of, or add the list of it to a wheel.

Both read `cargo metadata` from standard input: `crates` checks the agent's crates, without any Python package, and
`bill WHEEL` adds to a wheel. Python's packages are checked by tests/unit/project/test_supply.py.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.supply import crates, wheels
from scripts.supply.policy import DENY, ROOT, read_policy
from scripts.supply.sbom import Toolchain, bill
from scripts.supply.wheel_file import add_to_wheel

TARGET = "x86_64-unknown-linux-gnu"
BILL = "sboms/vtax.cdx.json"


def problems(metadata: str) -> Iterator[str]:
    """Say what the agent has that is not allowed."""
    policy = read_policy()
    yield from crates.graph_problems(metadata, policy)
    yield from crates.lock_problems((ROOT / crates.LOCK).read_text(), policy)


def add_bill(wheel: Path, metadata: str) -> None:
    """Add the bill of materials to a wheel."""
    compiler = _said("rustc", "--version")
    tree = _said(
        *("cargo", "tree", "--manifest-path", str(ROOT / "agent/Cargo.toml"), "--locked", "--offline"),
        *("--target", TARGET, "--edges", "normal", "--prefix", "none", "--format", "{p}"),
    )
    document = bill(
        wheel.name.split("-")[1],
        crates.compiled_in(metadata, tree),
        crates.checksums((ROOT / crates.LOCK).read_text()),
        wheels.locked((ROOT / "requirements.lock").read_text()),
        Toolchain(compiler.split()[1], (os.confstr("CS_GNU_LIBC_VERSION") or "").split()[-1]),
        int(os.environ["SOURCE_DATE_EPOCH"]),
    )
    add_to_wheel(wheel, BILL, document.encode())


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main(part: str, *wheel: str) -> int:
    """Print each problem; return the exit status."""
    metadata = sys.stdin.read()
    if part == "bill":
        add_bill(Path(*wheel), metadata)
        return 0
    found = list(problems(metadata))
    for problem in found:
        print(f"{problem}; {DENY.relative_to(ROOT)} says what is", file=sys.stderr)
    return bool(found)


sys.exit(main(*sys.argv[1:]))
