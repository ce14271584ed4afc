"""What kinds of workload say of their keys as factors."""

import pytest

from vtax.keys.fields import MARKS, Mark, marked
from vtax.registry.keys import KINDS


@pytest.mark.parametrize("mark", MARKS)
def test_kinds_that_have_the_same_key_agree_on_what_it_is_as_a_factor(mark: Mark) -> None:
    said: dict[str, set[bool]] = {}
    for kind in KINDS.values():
        for name in kind.model_fields:
            said.setdefault(name, set()).add(name in marked(kind, mark))
    assert {name for name, answers in said.items() if len(answers) > 1} == set()
    assert {True} in said.values() and {False} in said.values()
