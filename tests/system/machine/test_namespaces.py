"""Namespaces by name, beside others who name theirs."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.system

BEFORE_IP_NETNS = """
import subprocess
from vtax.machine.namespace import NAMED, Namespace
ours = Namespace("vtax-test-ours")
ours.create()
subprocess.run(["ip", "netns", "add", "vtax-test-theirs"], check=True)
ours.run(lambda: None)
subprocess.run(["ip", "netns", "delete", "vtax-test-theirs"], check=True)
ours.remove()
print(list(NAMED.iterdir()))
"""


def test_the_first_to_name_a_namespace_after_us_hides_none_of_ours() -> None:
    """In a mount namespace whose /run is new, as on a machine that has never named one."""
    inside = 'mount -t tmpfs none /run && exec "$0" -c "$1"'
    command = ["unshare", "--mount", "sh", "-c", inside, sys.executable, BEFORE_IP_NETNS]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
