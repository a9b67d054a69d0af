"""The core schema of YAML 1.2."""

import math

import pytest
from hypothesis import given, strategies as st

from ostler.workflow.scalars import CORE, resolved, tagged


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("NULL", None),
        ("nULL", "nULL"),
        ("true", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("on", "on"),
        ("yes", "yes"),
        ("n", "n"),
        ("0", 0.0),
        ("-12", -12.0),
        ("+3", 3.0),
        ("010", 10.0),
        ("0o17", 15.0),
        ("0xfF", 255.0),
        ("-0x1", "-0x1"),
        ("3.10", 3.1),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2026-11-19", "2026-11-19"),
        ("1.2.3", "1.2.3"),
        ("٣", "٣"),
        ("-.inf", -math.inf),
        ("inf", "inf"),
        ("1e999", math.inf),
        ("0x" + "f" * 400, math.inf),
    ],
)
def test_what_a_plain_scalar_means(text: str, value: object) -> None:
    """Words and numbers of YAML 1.2, and nothing of YAML 1.1."""
    assert resolved(text) == value
    assert type(resolved(text)) is type(value)


def test_not_a_number() -> None:
    """NaN equals nothing, itself included."""
    assert math.isnan(float(resolved(".nan") or 0))


@pytest.mark.parametrize(
    ("text", "tag", "value"), [("1", "str", "1"), ("1", "int", 1.0), ("1", "float", 1.0), ("", "null", None)]
)
def test_a_tag_decides(text: str, tag: str, value: object) -> None:
    """A tag of the core schema says what a scalar is."""
    assert tagged(text, CORE + tag) == value


@pytest.mark.parametrize(
    ("text", "tag", "why"),
    [("x", CORE + "int", "type int"), ("1.5", CORE + "int", "type int"), ("1", "!mine", "core"), ("1", "str", "core")],
)
def test_a_tag_that_cannot_be(text: str, tag: str, why: str) -> None:
    """A tag that is unknown, or that the text contradicts, is refused."""
    with pytest.raises(ValueError, match=why):
        tagged(text, tag)


@given(st.text())
def test_every_text_means_something(text: str) -> None:
    """No text makes the resolver fail."""
    assert isinstance(resolved(text), str | float | bool | None)
