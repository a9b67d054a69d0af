"""What a page's handler gets and what it may answer: the HTTP of the pages, so that handlers know none.

Every answer carries the security headers: no script, style, frame or form from or to anywhere else (threat 28).
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.types import Receive, Scope, Send

from ostler.protocol.problem import problem
from ostler.server.call import Refusal, Streaming, UserCaller
from ostler.server.pages.views import Section

HTML: Final = "text/html; charset=utf-8"
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_SECURITY = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    # Not "no-referrer": a browser would then post forms with the origin "null", which no check can accept.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_LONGEST_FORM = 64 * 1024
_MOST_FIELDS = 100

Headers = tuple[tuple[bytes, bytes], ...]


class PageRequest(NamedTuple):
    """One request of a browser. ``session`` is the secret of its cookie, empty without one."""

    method: str
    path: str
    values: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    headers: dict[str, str]
    session: str
    signed_in: UserCaller | None
    request_id: str

    @property
    def person(self) -> UserCaller:
        """Who is signed in; the site lets nobody else through to a page that asks for this."""
        if self.signed_in is None:
            raise Refusal(problem("unauthenticated"))
        return self.signed_in


class Drawn(NamedTuple):
    """A page to be drawn, or the fragment of one: the site knows which was asked for."""

    template: str
    title: str
    section: Section
    view: Struct
    status: int = 200
    cookie: str = ""


class Moved(NamedTuple):
    """Look there instead; also the answer to a form that did its work."""

    location: str
    cookie: str = ""


class Plain(NamedTuple):
    """Bytes as they are."""

    body: bytes
    media_type: str
    status: int = 200
    headers: Headers = ()


class Live(NamedTuple):
    """Server-sent events."""

    events: AsyncGenerator[bytes]


Answer = Drawn | Moved | Plain | Live | Streaming


def fields(encoded: bytes) -> dict[str, str]:
    """Return the fields of a query or of a form; a repeated field keeps its last value."""
    try:
        pairs = parse_qsl(encoded.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise Refusal(problem("query_malformed", str(error))) from error
    if any("\0" in value for _, value in pairs):
        raise Refusal(problem("query_malformed", "a value holds the character NUL"))
    return dict(pairs)


async def read_form(scope: Scope, receive: Receive) -> dict[str, str]:
    """Return the fields of a posted form."""
    if scope["method"] != "POST":
        return {}
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        chunk: bytes = message.get("body", b"")
        chunks.append(chunk)
        size += len(chunk)
        if size > _LONGEST_FORM:
            raise Refusal(problem("body_too_large", f"a form has at most {_LONGEST_FORM} bytes"))
        if not message.get("more_body", False):
            return fields(b"".join(chunks))


async def send_plain(send: Send, plain: Plain, *, bare: bool = False) -> None:
    """Send a whole answer; ``bare`` leaves the body out, for HEAD."""
    headers = [
        (b"content-type", plain.media_type.encode()),
        (b"content-length", str(len(plain.body)).encode()),
        *_SECURITY,
        *plain.headers,
    ]
    await send({"type": "http.response.start", "status": plain.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if bare else plain.body})


async def send_streaming(send: Send, streaming: Streaming, *, bare: bool = False) -> None:
    """Send a file piece by piece; ``bare`` leaves the body out, for HEAD."""
    headers = [
        (b"content-type", streaming.media_type.encode()),
        (b"cache-control", b"no-store"),
        *_SECURITY,
        *((name.encode(), value.encode()) for name, value in streaming.headers.items()),
    ]
    await send({"type": "http.response.start", "status": streaming.status, "headers": headers})
    async with aclosing(streaming.chunks) as chunks:
        async for chunk in chunks:
            if bare:
                break
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def send_live(send: Send, live: Live) -> None:
    """Send events until there are no more or the connection is gone."""
    headers = [
        (b"content-type", b"text/event-stream"),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
        *_SECURITY,
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async with aclosing(live.events) as events:
        async for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
