"""The command line: the doctor."""

import json
import os

import pytest

from vtax.cli import main

pytestmark = pytest.mark.system

Captured = pytest.CaptureFixture[str]


def test_the_doctor(capsys: Captured) -> None:
    assert main(["doctor", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert {"raw", "qemu-virtio"} <= {check["subject"] for check in checks}
    assert main(["doctor"]) == 0
    table = capsys.readouterr().out
    # What else runs here may change between two looks; that a row shows all of its check is print_checks' own test.
    assert all(check["subject"] in table for check in checks)
    (raw,) = (check for check in checks if check["subject"] == "raw")
    assert (raw["accelerator"], raw["versions"]) == ("none", {"kernel": os.uname().release})
    assert f"kernel {os.uname().release}" in table
