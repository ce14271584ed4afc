"""What a result records of files of the user's own that guests start from: a fact of their platform."""

from collections.abc import Mapping

from pydantic import JsonValue

from vtax.results.stored import mapping, mappings

FILES = "files"
"""The fact: each file by the path that was named, with its SHA-256 and its version."""
SHA256 = "sha256"


def hashes(facts: JsonValue) -> dict[str, str]:
    """Return the SHA-256 of the files that a platform's facts name, by the path."""
    files = mappings(mapping(facts).get(FILES))
    return {named: sha256 for named, about in files.items() if isinstance(sha256 := about.get(SHA256), str)}


def file_hashes(platforms: JsonValue) -> dict[str, dict[str, str]]:
    """Return the same of `platforms` in campaign.json, by the platform."""
    return {name: hashes(described.get("facts")) for name, described in mappings(platforms).items()}


def all_hashes(platforms: JsonValue) -> dict[str, str]:
    """Return the same of all platforms, by the path: a campaign's machine has one file there."""
    return {named: sha256 for files in file_hashes(platforms).values() for named, sha256 in files.items()}


def said_alike(sha256: Mapping[str, str]) -> list[str]:
    """Say of each file that was named by several paths that it is one."""
    by_content: dict[str, list[str]] = {}
    for named, content in sha256.items():
        by_content.setdefault(content, []).append(named)
    return [
        f"{' and '.join(paths)} are one file by SHA-256: between them nothing differs (A/A)"
        for paths in by_content.values()
        if len(paths) > 1
    ]
