"""One example of every message, made of values that never change: each field is filled, none with its default.

A recorded example is what a program of an old release sent. It is decoded by every later release, so a field that was
renamed or retyped is noticed even if nobody thought of the golden surface.
"""

from typing import Any, cast

import msgspec
from msgspec import inspect

_TEXTS = {
    "action": "cancel",
    "assertion": "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJybnJfMDEifQ.c2lnbmF0dXJl",
    "architecture": "x86_64",
    "code": "no_runner",
    "commit": "11bd71901bbe5b1630ceea73d27597364c9af683",
    "cursor": "run_01hzy3v5k8m2n4p6q8r0s2t4v6",
    "description": "Builds of the payments team",
    "digest": "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "evidence": "write: No space left on device",
    "fix": "Add a runner with the label gpu.",
    "hostname": "build-7.example.net",
    "isolation": "sandbox",
    "job_id": "job_01hzy3v5k8m2n4p6q8r0s2t4v7",
    "kernel": "6.12.9",
    "key": "8f14e45fceea167a",
    "name": "build-7",
    "os": "linux",
    "pool_id": "pool_01hzy3v5k8m2n4p6q8r0s2t4v8",
    "pool_name": "linux-large",
    "public_key": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    "registration_token": "ostler_reg_0123456789abcdef",
    "reason": "superseded by a newer commit",
    "run_id": "run_01hzy3v5k8m2n4p6q8r0s2t4v6",
    "runner_id": "rnr_01hzy3v5k8m2n4p6q8r0s2t4v9",
    "script": "make test",
    "sentence": "No runner of the pool has the label gpu.",
    "shell": "bash",
    "state": "running",
    "version": "0.1.0",
    "working_directory": "services/payments",
}
_MAPS = {"tools": {"git": "2.47.1", "docker": "27.4.0"}}
_LISTS: dict[str, list[str]] = {
    "argv": ["make", "test"],
    "environment": ["REGION", "HTTPS_PROXY"],
    "labels": ["linux", "gpu"],
    "parallel": [],  # a step's list of steps: there would be no end of them
}
_NUMBERS = {"protocol": 1, "fence": 2, "expires_in_ms": 900_000, "wait_ms": 25_000, "status": 409, "signal": 9}


def example(kind: type[Any]) -> object:
    """Return an example of a message, as the object that its JSON says."""
    return _value("", inspect.type_info(kind), object())


def _value(name: str, kind: inspect.Type, default: object) -> object:
    match kind:
        case inspect.StructType(fields=fields):
            return {field.encode_name: _value(field.encode_name, field.type, field.default) for field in fields}
        case inspect.UnionType(types=types):
            return _value(name, next(each for each in types if not isinstance(each, inspect.NoneType)), default)
        case inspect.ListType(item_type=item):
            return _LISTS[name] if name in _LISTS else [_value(name.removesuffix("s"), item, default)]
        case inspect.TupleType(item_types=items):
            return [_value(f"{name}_{index}", item, default) for index, item in enumerate(items)]
        case inspect.DictType(value_type=valued):
            kept = isinstance(valued, inspect.StructType)
            return {"build": _value("", valued, default)} if kept else _MAPS.get(name, {"CI_REGION": "eu-central"})
        case inspect.EnumType(cls=choices):
            return next(choice.value for choice in reversed(list(choices)) if choice != default)
        case inspect.LiteralType(values=values):
            return next(value for value in reversed(values) if value != default)
        case inspect.BoolType():
            return default is not True
        case inspect.IntType(ge=lowest, le=highest):
            return _number(name, lowest, highest, default)
        case inspect.FloatType() | inspect.BytesType():
            return 2.5 if isinstance(kind, inspect.FloatType) else "T0xG"  # as JSON has bytes: base64
        case inspect.StrType(min_length=shortest):
            return _TEXTS.get(name, name).ljust(shortest or 0, "x")
        case _:
            message = f"no example for {kind}"
            raise TypeError(message)


def _number(name: str, lowest: float | None, highest: float | None, default: object) -> int:
    chosen = _NUMBERS.get(name, 1_700_000_000_000_000 if name.endswith("_at") else 7)
    if highest is not None and chosen > highest:
        chosen = int(highest)
    if lowest is not None and chosen < lowest:
        chosen = int(lowest)
    return chosen + 1 if chosen == default else chosen


def with_unknown_fields(kind: type[Any], body: object) -> object:
    """Return the message as a newer program might send it: with a field that nobody here knows, on every level."""
    return _extended(inspect.type_info(kind), body)


def _extended(kind: inspect.Type, value: object) -> object:
    match kind:
        case inspect.StructType(fields=fields):
            known = {field.encode_name: field.type for field in fields}
            given = cast("dict[str, object]", value)
            kept = {name: _extended(known[name], part) if name in known else part for name, part in given.items()}
            return {"from_the_future": {"nested": [1, None, "x"]}, **kept}
        case inspect.UnionType(types=types):
            present = [each for each in types if not isinstance(each, inspect.NoneType)]
            return value if value is None else _extended(present[0], value)
        case inspect.ListType(item_type=item):
            return [_extended(item, part) for part in cast("list[object]", value)]
        case _:
            return value


def decoded(kind: type[Any], body: object) -> object:
    """Decode from bytes, as it happens on the wire."""
    return msgspec.json.decode(msgspec.json.encode(body), type=kind)
