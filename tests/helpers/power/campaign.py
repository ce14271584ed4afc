"""The campaign that is recorded: created, committed to, interrupted in a commit, and gone on with.

    python -m tests.helpers.power.campaign DIRECTORY

It tells in DIRECTORY/told, which is recorded too, when each act begins and has returned.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import vtax.results.writer
from tests.helpers.results.stored import CAMPAIGN, record
from vtax.results import CapturedFrame, ResultWriter, TrialRecord
from vtax.results.parts import write_part

TOLD, RESULT, PLAIN = "told", "results/of/campaign", "plain.parquet"
INTERRUPTED = 5


def trial(number: int) -> TrialRecord:
    """Blocks of three; the one that was interrupted has no samples when it is made again."""
    made = record(number, block=number // 3)
    made.latency = [{**made.latency[0], "histogram": "HISTF" + "A" * 3000}]  # a part of many sectors
    made.capture = [CapturedFrame(number, 64, bytes(64))] if number % 2 else []
    return replace(made, samples=[]) if number == INTERRUPTED else made


def main(directory: Path) -> None:
    told = os.open(directory / TOLD, os.O_WRONLY | os.O_CREAT)

    def tell(text: str) -> None:
        os.write(told, f"{text}\n".encode())

    def commit(writer: ResultWriter, number: int) -> None:
        tell(f"begin {number}")
        writer.commit(trial(number))
        tell(f"done {number}")

    def interrupted(path: Path, rows: pa.Table) -> None:
        if path.parent.name == "trials":
            raise KeyboardInterrupt
        write_part(path, rows)

    pq.write_table(
        pa.table({"number": range(1000)}), str(directory / PLAIN)
    )  # Arrow opens and writes it itself
    writer = ResultWriter.create(directory / RESULT, {**CAMPAIGN, "status": "running"})
    tell("created")
    writer.keep_files({"tool": b"own"})
    tell("kept")
    for number in range(INTERRUPTED):
        commit(writer, number)
    vtax.results.writer.write_part = interrupted
    try:
        writer.commit(record(INTERRUPTED, block=INTERRUPTED // 3))
    except KeyboardInterrupt:
        writer.close()
    vtax.results.writer.write_part = write_part
    writer = ResultWriter.resume(directory / RESULT)
    for number in range(INTERRUPTED, 9):
        commit(writer, number)
    writer.update(status="complete")
    tell("complete")
    writer.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
