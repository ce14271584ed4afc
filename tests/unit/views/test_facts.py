"""Facts in words, as reports and the pages of validation and bench have them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from vtax.views.facts import MITIGATED, fact_in_words, structured

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "unknown"),
        (2596.1520, "2,596.152"),
        ({"iptables": True, "arptables": False}, "iptables yes, arptables no"),
        ({"agents": [0], "guests": [1, 2]}, "agents 0, guests (1, 2)"),
        ({"uut": {"iptables": True, "arptables": True}}, "uut (iptables yes, arptables yes)"),
        ({}, "none"),
        ([[1, 2], {"a": 1, "b": 2}], "(1, 2), (a 1, b 2)"),
        ({"meltdown": "Not affected"}, "none"),
        (
            {
                "meltdown": "Not affected",
                "retbleed": "Vulnerable",
                "spec_rstack_overflow": "Mitigation: Safe RET",
                "spectre_v2": "Mitigation: Retpolines; STIBP: disabled",
            },
            "retbleed Vulnerable, spec_rstack_overflow Safe RET, spectre_v2 (Retpolines; STIBP: disabled), 1 other not "
            "affected",
        ),
    ],
)
def test_a_fact_is_told_in_words(value: JsonValue, words: str) -> None:
    assert fact_in_words(value) == words


@given(VALUES)
def test_any_fact_has_words_and_columns_of_json_are_read(value: JsonValue) -> None:
    assert fact_in_words(value) or value in ("", MITIGATED)
    if isinstance(value, dict | list):
        assert structured(json.dumps(value)) == value


DEEP = '{"a": ' * 300 + "1" + "}" * 300


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "6.1.0", "[1", DEEP, '{"a": "\\ud800"}'])
def test_a_text_that_is_no_json_of_ours_stays_one(text: str) -> None:
    assert structured(text) == text
