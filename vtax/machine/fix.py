"""What makes a machine usable: commands that can be pasted into a shell as they stand."""

import json
import os
import shlex
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

from vtax.machine.bridge_netfilter import TABLES

AS_ROOT = 'sudo "$(command -v vtax)" doctor'
"""The path in full: root's own search path may not hold vtax."""


def install(package: str) -> str:
    """Installs a Debian package, also where its lists are absent or one of its files is gone."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get update && {sudo}apt-get install --yes --reinstall {package}"


def load_module(module: str) -> str:
    """Loads a kernel module."""
    return f"{'' if os.geteuid() == 0 else 'sudo '}modprobe {module}"


def allow_user_namespaces() -> str:
    """Has the kernel make user namespaces, as many as it may by default on a small machine."""
    return f"{'' if os.geteuid() == 0 else 'sudo '}sysctl -w user.max_user_namespaces=10000"


def leave_netfilter_out() -> str:
    """Has bridges of this machine pass no frame to netfilter, until it boots again."""
    settings = " ".join(f"net.bridge.bridge-nf-call-{table}=0" for table in TABLES)
    return f"{'' if os.geteuid() == 0 else 'sudo '}sysctl -w {settings}"


def set_kernel(value: str, files: str) -> str:
    """Writes a value into settings of the kernel, until it boots again."""
    return f"echo {value} | {'' if os.geteuid() == 0 else 'sudo '}tee {files}"


def stop_service(name: str) -> str:
    """Stops a service, until the machine boots again."""
    return f"{'' if os.geteuid() == 0 else 'sudo '}systemctl stop {name}"


def in_tree(target: str) -> str | None:
    """Makes a target of the source tree that this package belongs to; None where it was installed without."""
    tree = Path(__file__).resolve().parents[2]
    return f"make -C {shlex.quote(str(tree))} {target}" if (tree / "agent/Cargo.toml").is_file() else None


def build_agent() -> str:
    """Builds the agent in the source tree, or installs the wheel again that had it."""
    return (
        in_tree("build")
        or f"{shlex.quote(sys.executable)} -m pip install --force-reinstall --no-deps {_wheel()}"
    )


def _wheel() -> str:
    """The file that this package was installed from (PEP 610), or how it is called where that is not known."""
    told = metadata.distribution("vtax").read_text("direct_url.json")
    url = urlsplit(json.loads(told)["url"]) if told else None
    return shlex.quote(unquote(url.path)) if url and url.scheme == "file" else "vtax-*.whl"
