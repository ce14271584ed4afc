"""A software bill of materials, held against what CycloneDX 1.6 requires (bom-1.6.schema.json)."""

import re
from typing import Any

SERIAL = r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)"
TYPES = {"application", "library"}
FIELDS = {"type", "bom-ref", "name", "version", "purl", "licenses", "hashes"}


def wrong_with(document: dict[str, Any]) -> list[str]:
    """What a document lacks, or has that the schema does not."""
    found = []
    if (document.get("bomFormat"), document.get("specVersion")) != ("CycloneDX", "1.6"):
        found.append("no CycloneDX 1.6")
    if not re.fullmatch(SERIAL, document.get("serialNumber", "")):
        found.append("serialNumber")
    if not isinstance(document.get("version"), int) or document["version"] < 1:
        found.append("version")
    if not re.fullmatch(TIME, document["metadata"]["timestamp"]):
        found.append("metadata.timestamp")
    components = [document["metadata"]["component"], *document["components"]]
    for each in components:
        if not {"type", "name"} <= each.keys() or each.keys() - FIELDS or each["type"] not in TYPES:
            found.append(f"component {each}")
        if not re.fullmatch(r"pkg:[a-z]+/[^@]+@[^@+\s]+", each["purl"]):
            found.append(f"purl {each['purl']}")
        for digest in each.get("hashes", []):
            if digest["alg"] != "SHA-256" or not re.fullmatch("[a-f0-9]{64}", digest["content"]):
                found.append(f"hash of {each['name']}")
        if any(licence.keys() != {"expression"} for licence in each.get("licenses", [])):
            found.append(f"licence of {each['name']}")
    references = [each["bom-ref"] for each in components]
    found += [f"{name} twice" for name in {*references} if references.count(name) > 1]
    depending = [each["ref"] for each in document["dependencies"]]
    found += [f"dependencies of {name} twice" for name in {*depending} if depending.count(name) > 1]
    for each in document["dependencies"]:
        found += [
            f"{name} is no component" for name in (each["ref"], *each["dependsOn"]) if name not in references
        ]
    return found
