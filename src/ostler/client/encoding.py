"""Between messages and bytes, derived from an ``Endpoint``: nothing here knows any particular message."""

from collections.abc import Mapping
from typing import TypeVar, cast
from urllib.parse import urlencode

import msgspec

from ostler.client.errors import ReplyMalformed
from ostler.client.transport import HttpResponse
from ostler.protocol.endpoint import Binary, Endpoint, Nothing
from ostler.protocol.problem import Problem

Request = TypeVar("Request")
Reply = TypeVar("Reply")

_ENCODER = msgspec.json.Encoder()
_PROBLEM = msgspec.json.Decoder(Problem)


def target(endpoint: Endpoint[Request, Reply], query: msgspec.Struct | None, path: Mapping[str, str]) -> str:
    """Return the path with its parameters and its query string."""
    filled = endpoint.filled(**path)
    if query is None:
        return filled
    pairs = cast("dict[str, object]", msgspec.to_builtins(query))
    text = urlencode([(name, _text(value)) for name, value in pairs.items() if value is not None])
    return f"{filled}?{text}" if text else filled


def body(endpoint: Endpoint[Request, Reply], request: Request | None) -> tuple[bytes, str]:
    """Return the body and its media type; both are empty if the endpoint takes none."""
    if isinstance(request, Binary):
        return request.data, request.media_type
    if request is None or endpoint.request is Nothing:
        return b"", ""
    return _ENCODER.encode(request), "application/json"


def reply(
    endpoint: Endpoint[Request, Reply], response: HttpResponse, decoder: msgspec.json.Decoder[Reply] | None
) -> Reply:
    """Return the message in a successful reply."""
    if decoder is None:
        if endpoint.reply is Binary:
            media_type = response.headers.get("content-type", "application/octet-stream")
            return cast("Reply", Binary(response.body, media_type))
        return cast("Reply", Nothing())
    try:
        return decoder.decode(response.body)
    except msgspec.DecodeError as error:
        raise ReplyMalformed(endpoint.name, str(error)) from error


def decoder(endpoint: Endpoint[Request, Reply]) -> msgspec.json.Decoder[Reply] | None:
    """Return what decodes this endpoint's replies; ``None`` if they are no JSON."""
    if endpoint.reply is Binary or endpoint.reply is Nothing:
        return None
    return msgspec.json.Decoder(endpoint.reply)


def problem(response: HttpResponse) -> Problem:
    """Return the problem in a reply; one made from the status if something between here and the server spoke."""
    try:
        return _PROBLEM.decode(response.body)
    except msgspec.DecodeError:
        return Problem(
            code="not_ostler",
            title=f"HTTP {response.status} without a problem in it",
            status=response.status,
            detail=response.body[:200].decode("utf-8", "replace").strip(),
            fix="Check the server's address and whatever stands between: proxies, load balancers.",
        )


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)
