"""The page of the protocol: every call and every message, from the table that server and clients are made of."""

from ostler.protocol.reference import Call, Field, Kind, Message, reference

_HEAD = """\
# Protocol

Every call of a server, under version 1. The same is served by each server as a page at `/api` and as an OpenAPI 3.1
document at `/api/openapi.json`.

- Bodies are JSON in UTF-8, unless another media type is named. A caller sends its token as `Authorization: Bearer …`.
- An error is a problem (RFC 9457, `application/problem+json`) with a stable `code`; see [error codes](errors.md).
- Version 1 only grows. A reader passes over fields that it does not know; a field that is left out has its default.
- Runners send durations, never times: the two clocks need not agree. Times in replies to people's clients end in `_at`
  and count microseconds since 1970 UTC; durations end in `_ms`.
- After a claim every message of a runner carries the `fence` of its attempt. One that is no longer current changes
  nothing and is answered with `stale_fence`.
"""


def page() -> str:
    """The whole page."""
    found = reference()
    names = {message.name for message in found.messages}
    lines = [_HEAD]
    for group in found.groups:
        lines += [f"## {group.name.capitalize()}", "", group.summary, ""]
        for call in group.calls:
            lines += _call(call, names)
    lines += ["## Messages", ""]
    for message in found.messages:
        lines += _message(message)
    return "\n".join(lines).rstrip() + "\n"


def _call(call: Call, names: set[str]) -> list[str]:
    problems = ", ".join(f"[`{refusal.code}`](errors.md#{refusal.code})" for refusal in call.refusals)
    lines = [
        f"### {call.method} {call.path}",
        "",
        f'<a id="call-{call.name}"></a>{call.summary}. {call.notes}',
        "",
        f"- Who may call: {call.caller}",
        f"- Takes: {_body(call.takes, names)}",
        f"- Answers: {call.status}, {_body(call.gives, names)}",
        f"- Problems: {problems}",
        "",
    ]
    return [*lines, *_fields("Query parameter", call.query)] if call.query else lines


def _body(name: str, names: set[str]) -> str:
    if name in names:
        return f"[{name}](#message-{name})"
    return f"`{name}`" if name else "nothing"


def _message(message: Message) -> list[str]:
    lines = [f"### {message.name}", "", f'<a id="message-{message.name}"></a>{message.summary}'.strip(), ""]
    if message.values:
        lines += ["One of " + ", ".join(f"`{value}`" for value in message.values) + ".", ""]
    return [*lines, *_fields("Field", message.fields)] if message.fields else lines


def _fields(heading: str, fields: tuple[Field, ...]) -> list[str]:
    lines = [f"| {heading} | Value | Default |", "| --- | --- | --- |"]
    for field in fields:
        default = "required" if field.required else f"`{field.default}`"
        lines.append(f"| `{field.name}` | {_kind(field.kind)} | {default} |")
    return [*lines, ""]


def _kind(kind: Kind) -> str:
    link = f"[{kind.message}](#message-{kind.message})" if kind.message else ""
    limits = f"`{kind.limits}`" if kind.words == "one of" else kind.limits
    joint = " " if kind.words == "one of" else ", "
    return joint.join(filter(None, (f"{kind.words} {link}".strip(), limits)))
