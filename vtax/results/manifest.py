"""campaign.json: what was measured, on what, with which seed, and how far the campaign came."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.results.bounds import MANIFEST_BYTES, MANIFEST_LEVELS
from vtax.results.files import read_file, replace_file
from vtax.results.schema import FORMAT_VERSION

NAME = "campaign.json"


def write_manifest(directory: Path, campaign: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Replace campaign.json atomically and return what it holds: `campaign` with the format's version."""
    content = {**campaign, "format_version": FORMAT_VERSION}
    replace_file(directory / NAME, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return content


def read_manifest(directory: Path) -> dict[str, JsonValue]:
    """Return campaign.json's content. InputError where it is missing, damaged, beyond bounds, or of another format."""
    path = directory / NAME
    try:
        content: JsonValue = json.loads(read_file(path, MANIFEST_BYTES))
        _check_depth(content)
        json.dumps(content, ensure_ascii=False).encode()  # escapes may spell half of a character
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{directory}: no result here ({NAME} is missing); name a directory that `vtax run` wrote"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except RecursionError:
        raise InputError(
            f"{path}: nested deeper than {MANIFEST_LEVELS} levels; any Parquet reader still opens the tables beside it"
        ) from None
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


def _check_depth(content: JsonValue) -> None:
    """Raise RecursionError for what is nested so deeply that some function could not follow."""
    nodes: list[JsonValue] = [content]
    for _ in range(MANIFEST_LEVELS + 1):
        holders = [node for node in nodes if isinstance(node, dict | list)]
        if not holders:
            return
        nodes = [inner for node in holders for inner in (node.values() if isinstance(node, dict) else node)]
    raise RecursionError
