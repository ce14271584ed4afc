"""What makes a machine usable: commands that can be pasted into a shell as they stand."""

import os
import shlex
import sys
from pathlib import Path

AS_ROOT = 'sudo "$(command -v vtax)" doctor'
"""The path in full: root's own search path may not hold vtax."""


def install(package: str) -> str:
    """Installs a Debian package, also where its lists are absent or one of its files is gone."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get update && {sudo}apt-get install --yes --reinstall {package}"


def load_module(module: str) -> str:
    """Loads a kernel module."""
    return f"{'' if os.geteuid() == 0 else 'sudo '}modprobe {module}"


def build_agent() -> str:
    """Builds the agent in the source tree that this package belongs to, or installs the wheel again that had it."""
    tree = Path(__file__).resolve().parents[2]
    if (tree / "agent/Cargo.toml").is_file():
        return f"make -C {shlex.quote(str(tree))} build"
    return f"{shlex.quote(sys.executable)} -m pip install --force-reinstall --no-deps vtax"
