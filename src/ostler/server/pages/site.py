"""The web pages as an ASGI application: which address shows what, and who may see it.

A page and its fragment are one handler. A page that needs a person sends everybody else to sign in; a form must carry
the token of its session; whatever goes wrong becomes a page that says what happened and what mends it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

import structlog
from starlette.types import Receive, Scope, Send

from ostler.effects import Ids
from ostler.protocol.problem import PROBLEMS, Problem, problem
from ostler.server.authentication import OPERATORS, SESSION_COOKIE, Authentication, cookie
from ostler.server.call import Refusal, Streaming, UserCaller
from ostler.server.pages.exchange import (
    HTML,
    Answer,
    Drawn,
    Live,
    Moved,
    PageRequest,
    Plain,
    fields,
    read_form,
    send_live,
    send_plain,
    send_streaming,
)
from ostler.server.pages.rendering import Renderer
from ostler.server.pages.sessions import SIGN_IN, Sessions
from ostler.server.pages.static_files import PREFIX, StaticFiles
from ostler.server.pages.views import PageFrame, Problem as ShownProblem, ProblemView
from ostler.store import pools
from ostler.store.database import Database

log = structlog.get_logger("ostler.server")

FRAGMENTS: Final = "/fragments"
_NO_STORE = (b"cache-control", b"no-store")


class Needs(Enum):
    """Who may ask for an address."""

    NOBODY = "nobody"
    PERSON = "person"
    OPERATOR = "operator"


Handler = Callable[[PageRequest], Awaitable[Answer]]


class Row(NamedTuple):
    """One address."""

    method: str
    path: str
    handler: Handler
    needs: Needs = Needs.PERSON


class Site:
    """See the module."""

    def __init__(
        self,
        rows: list[Row],
        *,
        static: StaticFiles,
        renderer: Renderer,
        sessions: Sessions,
        authentication: Authentication,
        database: Database,
        ids: Ids,
    ) -> None:
        self._static = static
        self._renderer = renderer
        self._sessions = sessions
        self._authentication = authentication
        self._database = database
        self._ids = ids
        self._rows: dict[int, list[tuple[tuple[str, ...], Row]]] = {}
        for row in rows:
            segments = tuple(row.path.split("/"))
            self._rows.setdefault(len(segments), []).append((segments, row))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        path: str = scope["path"]
        bare = scope["method"] == "HEAD"
        if path.startswith(PREFIX):
            file = self._static.answer(path, headers)
            if file is not None:
                await send_plain(send, file, bare=bare)
                return
        request = PageRequest(
            method="GET" if bare else scope["method"],
            path=path,
            values={},
            query={},
            form={},
            headers=headers,
            session=cookie(headers.get("cookie", ""), SESSION_COOKIE),
            signed_in=None,
            request_id=self._ids.new("req"),
        )
        answer = await self._answered(request, scope, receive)
        if isinstance(answer, Plain):
            await send_plain(send, answer, bare=bare)
            return
        if isinstance(answer, Streaming):
            await send_streaming(send, answer, bare=bare)
            return
        events = asyncio.ensure_future(send_live(send, answer))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait({events, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            events.cancel()
            gone.cancel()
            await asyncio.gather(events, gone, return_exceptions=True)

    async def _answered(self, request: PageRequest, scope: Scope, receive: Receive) -> Plain | Live | Streaming:
        try:
            query = fields(scope["query_string"])
            row, values = self._find(request)
            signed_in = await self._authentication.person(request.method, request.headers)
            request = request._replace(values=values, query=query, signed_in=signed_in)
            if signed_in is None and row.needs is not Needs.NOBODY:
                return self._sign_in_first(request, scope)
            _check_role(row, signed_in)
            request = request._replace(form=await read_form(scope, receive))
            if row.method == "POST" and row.needs is not Needs.NOBODY:
                self._sessions.check_form(request)
            return await self._finished(request, await row.handler(request))
        except Refusal as refusal:
            return await self._problem(request, refusal.problem)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("page_failed", path=request.path, request_id=request.request_id)
            return await self._problem(request, problem("internal"))

    def _find(self, request: PageRequest) -> tuple[Row, dict[str, str]]:
        if "\0" in request.path:
            raise Refusal(problem("not_found", "no address holds the character NUL"))
        segments = request.path.split("/")
        allowed: list[str] = []
        for pattern, row in self._rows.get(len(segments), ()):
            values = _match(pattern, segments)
            if values is not None and row.method == request.method:
                return row, values
            if values is not None:
                allowed.append(row.method)
        if allowed:
            raise Refusal(problem("method_not_allowed", f"this address takes {', '.join(sorted(set(allowed)))}"))
        raise Refusal(problem("not_found", f"there is no page at {request.path[:200]}"))

    def _sign_in_first(self, request: PageRequest, scope: Scope) -> Plain:
        if request.path.startswith(FRAGMENTS):
            back = quote(_path_of(request.headers.get("hx-current-url", "")), safe="")
            return Plain(b"", HTML, 401, (_NO_STORE, (b"hx-redirect", f"{SIGN_IN}?next={back}".encode())))
        if request.method != "GET" or "text/html" not in request.headers.get("accept", "text/html"):
            return Plain(b"sign in first\n", "text/plain; charset=utf-8", 401, (_NO_STORE,))
        query = scope["query_string"].decode("latin-1")
        back = quote(f"{request.path}?{query}" if query else request.path, safe="")
        return _moved(Moved(f"{SIGN_IN}?next={back}" if back != "%2F" else SIGN_IN))

    async def _finished(self, request: PageRequest, answer: Answer) -> Plain | Live | Streaming:
        if isinstance(answer, Moved):
            return _moved(answer)
        if not isinstance(answer, Drawn):
            return answer
        if request.path.startswith(FRAGMENTS):
            frame = self._frame(request, answer, waiting=await self._waiting(request))
            return _html(self._renderer.fragment(answer.template, frame, answer.view), 200)
        renewed = answer.cookie or await self._sessions.renewed(request)
        return await self._page(request, answer, renewed)

    async def _waiting(self, request: PageRequest) -> int:
        return await self._database.read(pools.waiting_jobs) if request.signed_in else 0

    async def _page(self, request: PageRequest, drawn: Drawn, renewed: str = "") -> Plain:
        frame = self._frame(request, drawn, waiting=await self._waiting(request))
        return _html(self._renderer.page(drawn.template, frame, drawn.view), drawn.status, renewed)

    def _frame(self, request: PageRequest, drawn: Drawn, *, waiting: int) -> PageFrame:
        person = request.signed_in
        return PageFrame(
            title=drawn.title,
            section=drawn.section,
            person=person.name if person else "",
            csrf_token=self._sessions.form_token(request.session) if person else "",
            waiting=waiting,
        )

    async def _problem(self, request: PageRequest, reason: Problem) -> Plain:
        shown = ShownProblem(
            title=PROBLEMS[reason.code].title, cause=_sentence(reason.detail), fix=reason.fix, code=reason.code
        )
        view = ProblemView(reason.status, shown, request.request_id)
        drawn = Drawn("problem", shown.title, "", view, reason.status)
        try:
            return await self._page(request, drawn)
        except Exception:
            log.exception("page_failed", path=request.path, request_id=request.request_id)
            return await self._page(request._replace(signed_in=None), drawn)


def _match(pattern: tuple[str, ...], segments: list[str]) -> dict[str, str] | None:
    values: dict[str, str] = {}
    for expected, actual in zip(pattern, segments, strict=True):
        if expected.startswith("{") and actual:
            values[expected[1:-1]] = actual
        elif expected != actual:
            return None
    return values


def _path_of(url: str) -> str:
    try:
        page = urlsplit(url)
    except ValueError:
        return ""
    return f"{page.path}?{page.query}" if page.query else page.path


def _check_role(row: Row, person: UserCaller | None) -> None:
    if row.needs is Needs.OPERATOR and person is not None and person.role not in OPERATORS:
        raise Refusal(problem("forbidden", f"this needs the role operator; {person.name} is {person.role}"))


def _html(text: str, status: int, renewed: str = "") -> Plain:
    headers = (_NO_STORE, *(((b"set-cookie", renewed.encode()),) if renewed else ()))
    return Plain(text.encode(), HTML, status, headers)


def _moved(moved: Moved) -> Plain:
    location = (b"location", moved.location.encode())
    headers = (_NO_STORE, location, *(((b"set-cookie", moved.cookie.encode()),) if moved.cookie else ()))
    return Plain(b"", HTML, 303, headers)


def _sentence(text: str) -> str:
    ended = text if not text or text.endswith((".", "!", "?")) else f"{text}."
    return ended[:1].upper() + ended[1:]


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
