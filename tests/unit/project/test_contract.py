"""What is generated from the contract of the agent is what is committed, and follows the contract."""

from pathlib import Path

import msgspec
import pytest

from scripts.contract.__main__ import CONTRACT, differing, module
from scripts.contract.document import Contract, read
from scripts.contract.page import page


@pytest.fixture
def contract() -> Contract:
    return read(CONTRACT)


def test_the_generated_files_are_what_the_contract_gives() -> None:
    assert differing() == [], "run `make generate`"


def test_a_change_of_the_contract_changes_both_files(contract: Contract) -> None:
    contract.bounds["MOST_STREAMS"].value = 9
    properties = contract.definitions["CpuOpenParams"].properties
    assert properties is not None
    properties["hz"].maximum = 77
    source = module(contract)
    assert "MOST_STREAMS = 9\n" in source and "Annotated[int, Meta(ge=1, le=77)]" in source
    text = page(contract)
    assert "`MOST_STREAMS` = 9:" in text and "`hz` (integer 1 to 77)" in text


def test_a_keyword_that_the_generator_does_not_know_is_refused(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(CONTRACT.read_text().replace('"pattern"', '"patern"', 1))
    with pytest.raises(msgspec.ValidationError, match="patern"):
        read(tmp_path / "schema.json")


def test_every_type_that_a_page_links_to_is_on_it(contract: Contract) -> None:
    text = page(contract)
    headings = {
        f"#{line.removeprefix('### ').lower()}" for line in text.splitlines() if line.startswith("### ")
    }
    links = {part.partition(")")[0] for part in text.split("](")[1:]}
    assert {link for link in links if link.startswith("#")} <= headings
    assert max(map(len, text.splitlines())) <= 120
