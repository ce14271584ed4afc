"""The tools that vtax is held against: which versions are here."""

import subprocess

PACKAGES = ("netsniff-ng", "iperf3", "dpdk-dev", "tcpdump", "sockperf")


def versions() -> str:
    """The packages that the peers come from, with their versions, as a sentence without its full stop."""
    query = ["dpkg-query", "--show", "--showformat=${Package} ${Version}, ", *PACKAGES]
    return subprocess.run(query, check=False, capture_output=True, text=True, timeout=30).stdout.rstrip(", ")
