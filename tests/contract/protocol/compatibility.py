"""Says of every difference between two surfaces whether programs that speak the old one can live with it.

Agents are upgraded after their server, or before it, or never. Whatever makes one side refuse or misread what the other
has always said is incompatible; the rest only adds. What counts depends on who reads a message: a new value of an
enumeration is harmless in a request and breaks the reader of a reply.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, cast

JsonObject = dict[str, Any]
Direction = Literal["request", "reply"]

_UPPER = ("maximum", "maxLength", "maxItems")
_LOWER = ("minimum", "minLength", "minItems")
_MUST_STAY = ("method", "path", "auth", "status", "request", "reply")


class Difference(NamedTuple):
    """One difference, in words."""

    incompatible: bool
    text: str


def differences(old: JsonObject, new: JsonObject) -> list[Difference]:
    """Return every difference, the incompatible ones first."""
    found = [*_problems(old, new), *_endpoints(old, new), *_messages(old, new)]
    return sorted(found, key=lambda difference: not difference.incompatible)


def _breaks(text: str) -> Difference:
    return Difference(True, text)


def _adds(text: str) -> Difference:
    return Difference(False, text)


def _problems(old: JsonObject, new: JsonObject) -> Iterator[Difference]:
    before, after = old["problems"], new["problems"]
    for code, status in before.items():
        if code not in after:
            yield _breaks(f"problem {code} removed")
        elif after[code] != status:
            yield _breaks(f"problem {code}: status changed from {status} to {after[code]}")
    yield from (_adds(f"problem {code} added") for code in after if code not in before)


def _endpoints(old: JsonObject, new: JsonObject) -> Iterator[Difference]:
    before, after = old["endpoints"], new["endpoints"]
    for name, row in before.items():
        if name not in after:
            yield _breaks(f"endpoint {name} removed")
            continue
        yield from _endpoint(name, row, after[name])
    yield from (_adds(f"endpoint {name} added") for name in after if name not in before)


def _endpoint(name: str, old: JsonObject, new: JsonObject) -> Iterator[Difference]:
    for key in _MUST_STAY:
        if old[key] != new[key]:
            yield _breaks(f"endpoint {name}: {key} changed from {old[key]!r} to {new[key]!r}")
    if old["query"] != new["query"]:
        say = _breaks if old["query"] else _adds
        yield say(f"endpoint {name}: query changed from {old['query']!r} to {new['query']!r}")
    if old["retryable"] != new["retryable"]:
        say = _breaks if old["retryable"] else _adds
        yield say(f"endpoint {name}: retryable changed to {new['retryable']}")
    if old["body_limit"] != new["body_limit"]:
        say = _breaks if new["body_limit"] < old["body_limit"] else _adds
        yield say(f"endpoint {name}: body_limit changed from {old['body_limit']} to {new['body_limit']}")
    if old["problems"] != new["problems"]:
        yield _adds(f"endpoint {name}: its list of problems changed")


def _messages(old: JsonObject, new: JsonObject) -> Iterator[Difference]:
    before, after = old["messages"], new["messages"]
    directions = _directions(old)
    for name, schema in before.items():
        if name not in after:
            yield _breaks(f"message {name} removed")
        else:
            yield from _message(name, schema, after[name], directions.get(name, {"request", "reply"}))
    yield from (_adds(f"message {name} added") for name in after if name not in before)


def _message(name: str, old: JsonObject, new: JsonObject, read_as: set[Direction]) -> Iterator[Difference]:
    if "enum" in old:
        yield from _values(name, old, new, read_as)
        return
    before, after = old.get("properties", {}), new.get("properties", {})
    required_before, required_after = set(old.get("required", ())), set(new.get("required", ()))
    for field, schema in before.items():
        label = f"{name}.{field}"
        if field not in after:
            yield _breaks(f"field {label} removed")
            continue
        if (field in required_before) != (field in required_after):
            yield _breaks(f"field {label} became {'required' if field in required_after else 'optional'}")
        yield from _type(label, schema, after[field], read_as)
    for field in after:
        if field not in before:
            say = _breaks if field in required_after else _adds
            yield say(f"{'required ' if field in required_after else ''}field {name}.{field} added")


def _type(label: str, old: JsonObject, new: JsonObject, read_as: set[Direction]) -> Iterator[Difference]:
    if old == new:
        return
    if "enum" in old and "enum" in new and _rest(old) == _rest(new):
        yield from _values(f"field {label}", old, new, read_as)
    elif old.get("default") != new.get("default"):
        yield _breaks(f"field {label}: default changed from {old.get('default')!r} to {new.get('default')!r}")
    elif _rest(old) == _rest(new) and _wider(old, new) and read_as == {"request"}:
        yield _adds(f"field {label}: limits widened")
    elif _rest(old) == _rest(new):
        yield _breaks(f"field {label}: limits changed from {_limits(old)} to {_limits(new)}")
    else:
        yield _breaks(f"field {label}: type changed from {old} to {new}")


def _values(label: str, old: JsonObject, new: JsonObject, read_as: set[Direction]) -> Iterator[Difference]:
    before, after = set(old["enum"]), set(new.get("enum", ()))
    for value in sorted(before - after, key=str):
        yield _breaks(f"{label}: value {value!r} removed")
    for value in sorted(after - before, key=str):
        say = _breaks if "reply" in read_as else _adds
        yield say(f"{label}: value {value!r} added")


def _limits(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key in (*_UPPER, *_LOWER)}


def _rest(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in (*_UPPER, *_LOWER, "enum")}


def _wider(old: JsonObject, new: JsonObject) -> bool:
    upper = all(key not in new or (key in old and new[key] >= old[key]) for key in _UPPER)
    return upper and all(key not in new or (key in old and new[key] <= old[key]) for key in _LOWER)


def _directions(surface: JsonObject) -> dict[str, set[Direction]]:
    """Return for each message whether it is part of requests, of replies or of both."""
    found: dict[str, set[Direction]] = {"Problem": {"reply"}}
    for row in surface["endpoints"].values():
        for key, direction in (("request", "request"), ("query", "request"), ("reply", "reply")):
            for name in _reachable(surface["messages"], row[key]):
                found.setdefault(name, set()).add(cast("Direction", direction))
    return found


def _reachable(messages: JsonObject, start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in messages:
            continue
        seen.add(name)
        waiting += list(_references(messages[name]))
    return seen


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in cast("JsonObject", schema).items():
            if key == "$ref":
                yield str(value)
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for part in cast("list[object]", schema):
            yield from _references(part)
