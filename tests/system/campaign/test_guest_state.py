"""A guest whose agent answers `guest.state` with something else: the campaign goes on."""

import json
from pathlib import Path

import pytest
from msgspec import Raw

from tests.helpers.guest_states import LIES
from vtax.cli import main
from vtax.machine.agent import PendingReply
from vtax.results import Result

pytestmark = pytest.mark.system


@pytest.mark.usefixtures("leaves_nothing")
@pytest.mark.parametrize("lie", ["a list", "nothing", "the host's own judgement"])
def test_a_campaign_with_a_guest_that_lies_goes_on(
    lie: str,
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It lies once, after its first trial."""
    wait, asked = PendingReply.wait, []

    def lying(self: PendingReply, timeout_s: float) -> Raw:
        answer = wait(self, timeout_s)
        if self.method == "guest.state":
            asked.append(answer)
            return Raw(json.dumps(LIES[lie][0]).encode()) if len(asked) == 2 else answer
        return answer

    monkeypatch.setattr(PendingReply, "wait", lying)
    options = ["--platform", "container", "--set", "intended_mbps=5", "--repetitions", "2"]
    assert main(["run", str(scenario), *options, "--out", str(tmp_path / "out")]) in (0, 3)
    said = capsys.readouterr().err
    assert "vtax broke" not in said
    assert "answered guest.state with" in said
    result = Result.open(tmp_path / "out")
    assert result.campaign["status"] == "complete"
    first, *later = result.query("SELECT verdict, reasons FROM trials ORDER BY trial_id").to_pylist()
    assert first["verdict"] == "invalid"
    named = "the agent inside the guest answered guest.state with"
    assert [reason for reason in first["reasons"] if reason.startswith(named)]
    assert later
    assert not [reason for trial in later for reason in trial["reasons"] if reason.startswith(named)]
