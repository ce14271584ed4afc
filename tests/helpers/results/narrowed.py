"""A recorded result as a campaign of today writes it: with the columns of its kind alone."""

import json
from pathlib import Path

import pyarrow.parquet as pq

from vtax.registry.keys import KINDS
from vtax.results.parts import write_part
from vtax.results.schema import schemas


def narrow(directory: Path) -> None:
    """Take out of `trials` what its kind of workload does not record, and list in campaign.json what it has of that."""
    manifest = directory / "campaign.json"
    campaign = json.loads(manifest.read_text())
    kind = KINDS[campaign["scenario"]["workload"]["kind"]]
    parts = [(part, pq.read_table(part)) for part in (directory / "trials").glob("*.parquet")]
    there = {name for _, rows in parts for name in rows.schema.names}
    campaign["columns"] = [column.as_json() for column in kind.columns() if column.name in there]
    manifest.write_text(json.dumps(campaign))
    names = schemas(campaign)["trials"].names
    for part, rows in parts:
        write_part(part, rows.select([name for name in names if name in rows.schema.names]))
