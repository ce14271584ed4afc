"""campaign.json: what was measured, on what, with which seed, and how far the campaign came."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.results.files import replace_file
from vtax.results.schema import FORMAT_VERSION

NAME = "campaign.json"


def write_manifest(directory: Path, campaign: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Replace campaign.json atomically and return what it holds: `campaign` with the format's version."""
    content = {**campaign, "format_version": FORMAT_VERSION}
    replace_file(directory / NAME, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return content


def read_manifest(directory: Path) -> dict[str, JsonValue]:
    """Return campaign.json's content. InputError where it is missing, damaged, or of another format."""
    path = directory / NAME
    try:
        content: JsonValue = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{directory}: no result here ({NAME} is missing); name a directory that `vtax run` wrote"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError(
            f"{path}: damaged ({error}); any Parquet reader still opens the tables beside it"
        ) from None
    told = content if isinstance(content, dict) else {}
    version = told.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise InputError(
            f"{path}: format_version is {version}, this vtax reads up to {FORMAT_VERSION}; read it with the vtax "
            f"that wrote it ({told.get('vtax_version', 'unknown')}) or a later one"
        )
    if version != FORMAT_VERSION:
        raise InputError(
            f"{path}: format_version is {version!r}, which no vtax writes; any Parquet reader still opens the "
            "tables beside it"
        )
    return told
