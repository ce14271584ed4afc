"""Each slowed block has to name its cause, and slowing may not change a ratio."""

import pytest

from validation.section import Check
from validation.slowed import Block, checks_of


def rows(blocks: list[Block]) -> tuple[Check, Check]:
    named, ratio = checks_of("quota", blocks)
    return named, ratio


def test_every_block_has_to_name_the_cause() -> None:
    blocks = [Block(0.5, 0.5, named=True)] * 19
    assert rows([*blocks, Block(0.5, 0.5, named=True)])[0] == Check(
        "quota: named", "20 of 20", "all", holds=True
    )
    assert not rows([*blocks, Block(0.5, 0.5, named=False)])[0].holds


def test_a_block_with_an_invalid_trial_has_no_ratio() -> None:
    blocks = [Block(0.505, 0.5, named=True)] * 18
    _, ratio = rows([*blocks, Block(None, 0.5, named=True), Block(0.5, None, named=True)])
    assert ratio.measured == "+1.00% [+1.00%, +1.00%], n = 18 of 20 blocks"
    assert ratio.holds


def test_where_no_block_was_kept_there_is_no_ratio() -> None:
    (named,) = checks_of("quota", [Block(None, 0.5, named=True)] * 20)
    assert named == Check("quota: named", "20 of 20; none was kept", "all", holds=True)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_ratio_that_slowing_changes_by_more_misses(sign: int) -> None:
    _, ratio = rows([Block(0.5 * (1 + sign * 0.04), 0.5, named=True)] * 20)
    assert (ratio.holds, ratio.explanation) == (False, None)


def test_a_machine_whose_own_ratio_differs_by_more_explains_a_miss() -> None:
    blocks = [Block(0.55, 0.5, named=True), Block(0.5, 0.55, named=True)] * 10
    _, ratio = rows(blocks)
    assert not ratio.holds
    assert ratio.explanation is not None
    assert ratio.explanation.startswith(
        "From one round to the next the ratio that is not slowed itself differs by ["
    )
