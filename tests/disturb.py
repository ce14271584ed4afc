"""What is done to a campaign that shall notice it: the fixture `in_the_trial` says when."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Act = Callable[[str], Any]
"""What is done; it is given the run's name, which its namespaces begin with."""


def within(namespace: str, script: str) -> None:
    """Run shell commands in a network namespace."""
    subprocess.run(["nsenter", f"--net=/run/netns/{namespace}", "sh", "-ec", script], check=True)


def bpf_program(path: Path, section: str, body: str, helpers: str = "") -> Path:
    """Compile a BPF program of one function to `path`; `body` may use `context` and the `helpers` declared."""
    source = f"""
    {helpers}
    __attribute__((section("{section}"), used)) int foreign(void *context) {{ {body} }}
    char licence[] __attribute__((section("license"), used)) = "GPL";
    """
    command = ["clang", "-target", "bpf", "-O2", "-c", "-x", "c", "-", "-o", path]
    subprocess.run(command, input=source, text=True, check=True)
    return path
