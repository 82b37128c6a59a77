"""The parser of instant vectors: what is right comes through, what is wrong is named."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cluster.errors import InputError
from scheduler.telemetry.vectors import parse_vector
from tests.scheduler.telemetry.answers import NOW_S, answer, series

NO_NUL = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
BROKEN = [
    (b"", "$", "not valid JSON"),
    (b"<html>login</html>", "$", "not valid JSON"),
    (b"[]", "$", "Expected `object`, got `array`"),
    (b'{"data": {}}', "$", "Object missing required field `status`"),
    (
        json.dumps({"status": "error", "errorType": "bad_data", "error": "parse"}).encode(),
        "$.status",
        "bad_data: parse",
    ),
    (b'{"status": "success"}', "$.data", "not valid JSON"),
    (b'{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}', "$.data.resultType", "expected a vector"),
    (answer({"metric": {}, "value": [1]}), "$.data.result[0].value", "Expected `array` of length 2"),
    (answer({"metric": {"a": 1}, "value": [1, "2"]}), "$.data.result[0].metric[...]", "Expected `str`, got `int`"),
    (answer(series("a", "1"), series("a", "five")), "$.data.result[1].value[1]", "not a number"),
]


@pytest.mark.parametrize(("data", "path", "reason"), BROKEN, ids=[str(place) for place in range(len(BROKEN))])
def test_a_broken_answer_names_the_place(data: bytes, path: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_vector(data)
    assert (caught.value.path, caught.value.reason) == (path, reason)


def test_no_number_is_unknown_and_never_zero() -> None:
    data = answer(series("a", "NaN"), series("a", "+Inf"), series("a", "-Inf"), series("a", "0"))
    assert [sample.value for sample in parse_vector(data)] == [None, None, None, 0.0]


def test_a_series_without_name_gets_the_one_of_its_query() -> None:
    (sample,) = parse_vector(answer({"metric": {"gpu": "3"}, "value": [NOW_S, "1.5"]}), "rate")
    assert (sample.metric, sample.labels, sample.at_s, sample.value) == ("rate", {"gpu": "3"}, NOW_S, 1.5)


@given(st.lists(st.tuples(st.text(NO_NUL, max_size=20), st.floats(allow_nan=False, allow_infinity=False)), max_size=20))
def test_what_was_said_is_what_is_read(said: list[tuple[str, float]]) -> None:
    rows = [series("m", value, label=text) for text, value in said]
    assert [(s.labels["label"], s.value) for s in parse_vector(answer(*rows))] == said


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["status", "data", "result"]), inner),
    max_leaves=12,
)


@given(JSON | st.binary(max_size=60))
def test_nothing_but_input_errors_comes_out(junk: Any) -> None:
    data = junk if isinstance(junk, bytes) else json.dumps({"status": "success", "data": junk}).encode()
    try:
        parse_vector(data)
    except InputError as error:
        assert error.path.startswith("$")
        assert error.reason


def test_a_nul_in_a_label_is_marked() -> None:
    (found,) = parse_vector(answer({"metric": {"node": "a\0"}, "value": [1, "2"]}))
    assert found.labels == {"node": "a\N{REPLACEMENT CHARACTER}"}
