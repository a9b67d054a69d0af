"""Traps 29 to 32: what jobs a matrix has, and what they are called."""

import pytest

from ostler.expr.values import Value
from ostler.workflow.run import matrix as module
from ostler.workflow.run.errors import Misconfigured
from ostler.workflow.run.matrix import MOST_CELLS, expand
from ostler.workflow.run.names import cell_name


def cells(matrix: Value) -> list[dict[str, Value]]:
    return [cell.values for cell in expand(matrix)]


def test_the_first_vector_changes_slowest() -> None:
    assert cells({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]


def test_exclusions_come_before_inclusions() -> None:
    """What was excluded cannot be extended: the inclusion becomes a job of its own."""
    matrix: Value = {"a": [1, 2], "exclude": [{"a": 2}], "include": [{"a": 2, "c": 3}]}
    assert cells(matrix) == [{"a": 1}, {"a": 2, "c": 3}]


def test_an_exclusion_need_not_name_every_key() -> None:
    assert cells({"a": [1, 2], "b": [1, 2], "exclude": [{"a": 1}]}) == [{"a": 2, "b": 1}, {"a": 2, "b": 2}]


def test_an_exclusion_compares_parts_of_objects_loosely() -> None:
    matrix: Value = {
        "node": [{"version": 14, "os": "Linux"}, {"version": 16, "os": "linux"}],
        "exclude": [{"node": {"version": "14", "os": "LINUX"}}],
    }
    assert cells(matrix) == [{"node": {"version": 16, "os": "linux"}}]


def test_keys_ignore_case() -> None:
    assert cells({"OS": ["a", "b"], "exclude": [{"os": "b"}], "Include": [{"Os": "a", "x": 1}]}) == [
        {"OS": "a", "x": 1}
    ]


def test_the_documented_example_of_inclusions() -> None:
    """From the documentation of ``include``: fruit and animal."""
    matrix: Value = {
        "fruit": ["apple", "pear"],
        "animal": ["cat", "dog"],
        "include": [
            {"color": "green"},
            {"color": "pink", "animal": "cat"},
            {"fruit": "apple", "shape": "circle"},
            {"fruit": "banana"},
            {"fruit": "banana", "animal": "cat"},
        ],
    }
    assert cells(matrix) == [
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]


def test_a_matrix_of_inclusions_alone() -> None:
    assert cells({"include": [{"a": 1}, {"a": 1, "b": 2}]}) == [{"a": 1}, {"a": 1, "b": 2}]


def test_everything_may_be_excluded() -> None:
    assert cells({"a": [1], "exclude": [{"a": 1}]}) == []


NO_MATRICES: list[tuple[Value, str]] = [
    ("x", "no mapping"),
    ({}, "defines no values"),
    ({"include": []}, "defines no values"),
    ({"a": []}, "strategy.matrix.a: the list is empty"),
    ({"a": "x"}, "strategy.matrix.a: it is no list"),
    ({"a": None}, "strategy.matrix.a: it is no list"),
    ({"a": [1], "exclude": [{"b": 1}]}, "'b' is no key"),
    ({"a": [1], "exclude": [{}]}, "an item of it is no mapping with values"),
    ({"a": [1], "include": ["x"]}, "an item of it is no mapping with values"),
    ({"a": [1], "include": {"b": 1}}, "strategy.matrix.include: it is no list"),
    ({"a": [0] * 101, "b": [0] * 100}, f"10100 jobs are more than {MOST_CELLS}"),
    ({key: [0] * 100 for key in "abcdef"}, "too many to be expanded"),
]


@pytest.mark.parametrize(("matrix", "fault"), NO_MATRICES)
def test_what_is_no_matrix(matrix: Value, fault: str) -> None:
    with pytest.raises(Misconfigured, match=fault):
        expand(matrix)


def test_more_jobs_than_github_allows() -> None:
    assert len(expand({"a": list(range(1000))})) == 1000
    assert module.MOST_CELLS >= 10_000


def names(matrix: Value) -> list[str]:
    return [cell_name("job", cell.segments) for cell in expand(matrix)]


def test_a_name_has_the_matrix_own_values_and_not_what_was_included() -> None:
    assert names({"a": [1.5, True], "b": ["", "x"], "include": [{"a": 1.5, "c": 9}]}) == [
        "job (1.5)",
        "job (1.5, x)",
        "job (true)",
        "job (true, x)",
    ]


def test_a_name_has_every_leaf() -> None:
    assert names({"a": [{"x": 1, "y": [2, None, {"z": "w"}]}]}) == ["job (1, 2, w)"]


def test_an_inclusion_that_is_a_job_of_its_own_has_all_its_values_in_its_name() -> None:
    assert names({"a": [1], "include": [{"b": 2, "a": 3}]}) == ["job (1)", "job (3, 2)"]


def test_a_long_name_is_cut() -> None:
    name = names({"a": ["x" * 200]})[0]
    assert len(name) == 100
    assert name.endswith("xxx...")
