"""Captured frames as a file that other tools read."""

import subprocess
from pathlib import Path

import pytest

from tests.helpers.results.stored import CAMPAIGN, record
from vtax.results import CapturedFrame, Result, ResultWriter
from vtax.results.captures import capture_path, pcap

FRAMES = [
    CapturedFrame(1_700_000_000_000_000_007, 1514, bytes(range(64))),
    CapturedFrame(1_700_000_000_999_999_999, 60, bytes(60)),
]


@pytest.mark.slow
def test_tshark_reads_what_was_captured(tmp_path: Path) -> None:
    path = tmp_path / "two.pcap"
    path.write_bytes(pcap(FRAMES))
    fields = ["frame.time_epoch", "frame.len", "frame.cap_len", "frame.protocols"]
    command = ["tshark", "-r", path, "-T", "fields", *(word for field in fields for word in ("-e", field))]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split("\t") for line in shown]
    assert [row[:3] for row in rows] == [
        ["1700000000.000000007", "1514", "64"],
        ["1700000000.999999999", "60", "60"],
    ]
    assert all(row[3].startswith("eth") for row in rows)


def test_a_trial_s_frames_stand_beside_its_tables_in_the_order_they_came(tmp_path: Path) -> None:
    with ResultWriter.create(tmp_path, CAMPAIGN) as writer:
        kept = record(0, block=0)
        kept.capture = FRAMES[::-1]
        writer.commit(kept)
        writer.commit(record(1, block=0))
    assert capture_path(tmp_path, 0).read_bytes() == pcap(FRAMES)
    assert not capture_path(tmp_path, 1).exists()
    result = Result.open(tmp_path)
    assert (result.damaged, result.notes) == ([], [])
    ResultWriter.resume(tmp_path).close()
    assert capture_path(tmp_path, 0).exists()
