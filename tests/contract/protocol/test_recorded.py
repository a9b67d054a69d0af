"""What was ever said is understood for ever, unknown fields are passed over, and bad bytes are only ever refused."""

import contextlib
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from ostler.protocol.v1.table import ENDPOINTS
from tests.contract.protocol.examples import decoded, example, with_unknown_fields
from tests.contract.protocol.recorded import FOLDER, Recorded, messages_of, recorded

RECORDED = recorded()
every_message = pytest.mark.parametrize("message", [pytest.param(each, id=each.label) for each in RECORDED])
KINDS = sorted({kind for row in ENDPOINTS for kind in messages_of(row).values()}, key=lambda kind: kind.__name__)


@every_message
def test_a_recorded_message_is_understood_with_every_value(message: Recorded) -> None:
    understood = msgspec.json.decode(msgspec.json.encode(decoded(message.kind, message.body)))
    assert lost(message.body, understood) == []


@every_message
def test_unknown_fields_are_passed_over(message: Recorded) -> None:
    newer = with_unknown_fields(message.kind, message.body)
    assert newer != message.body
    assert decoded(message.kind, newer) == decoded(message.kind, message.body)


@every_message
def test_a_message_without_its_optional_fields_is_understood(message: Recorded) -> None:
    required = {field.encode_name for field in msgspec.structs.fields(message.kind) if field.required}
    smallest = {name: part for name, part in cast("dict[str, object]", message.body).items() if name in required}
    decoded(message.kind, smallest)


@every_message
def test_what_a_message_says_by_omission_is_its_default(message: Recorded) -> None:
    value = decoded(message.kind, message.body)
    assert msgspec.json.decode(msgspec.json.encode(value), type=message.kind) == value


def test_every_endpoint_with_messages_is_recorded() -> None:
    files = {path.stem for path in FOLDER.glob("*/*.json")}
    assert files == {row.name for row in ENDPOINTS if messages_of(row)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_present_messages_are_recorded(kind: type[Any]) -> None:
    bodies = [message.body for message in RECORDED if message.kind is kind]
    assert example(kind) in bodies, "run `.venv/bin/python -m tests.contract.protocol.refresh`"


def lost(said: object, understood: object, place: str = "$") -> list[str]:
    """Where something that was said did not arrive; what was added by later defaults does not matter."""
    if isinstance(said, dict) and isinstance(understood, dict):
        given, taken = cast("dict[str, object]", said), cast("dict[str, object]", understood)
        missing = [f"{place}.{name}" for name in given if name not in taken]
        inner = [lost(part, taken[name], f"{place}.{name}") for name, part in given.items() if name in taken]
        return [*missing, *(found for each in inner for found in each)]
    if isinstance(said, list) and isinstance(understood, list):
        pairs = zip(cast("list[object]", said), cast("list[object]", understood), strict=True)
        inner = [lost(part, taken, f"{place}[{index}]") for index, (part, taken) in enumerate(pairs)]
        return [found for each in inner for found in each]
    return [] if said == understood else [place]


def test_a_field_that_no_longer_arrives_is_named() -> None:
    assert lost({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 3}], "d": 4}) == ["$.a[0].c", "$.a[0].b"]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[type[Any], bytes]:
    """A recorded message with a stretch of its bytes replaced: truncated, spliced, or with other JSON inside."""
    message = draw(st.sampled_from(RECORDED))
    raw = msgspec.json.encode(message.body)
    start = draw(st.integers(0, len(raw)))
    end = draw(st.integers(start, len(raw)))
    noise = st.sampled_from([b"null", b"-1", b"1e999", b'"\\ud800"', b"[]", b"{}", b"\xff", b"\x00", b"[" * 5000])
    return message.kind, raw[:start] + draw(noise | st.binary(max_size=8)) + raw[end:]


@given(damaged())
@settings(max_examples=600, deadline=None)
def test_damaged_bytes_are_refused_or_understood(case: tuple[type[Any], bytes]) -> None:
    kind, raw = case
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        assert isinstance(msgspec.json.decode(raw, type=kind), kind)


@given(st.sampled_from(KINDS), st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_random_bytes_are_refused_or_understood(kind: type[Any], raw: bytes) -> None:
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        assert isinstance(msgspec.json.decode(raw, type=kind), kind)
