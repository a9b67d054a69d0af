"""A server for browser tests: the real templates and static files over made-up views and logs, with the real CSP.

It answers the Log API and the page stream as the real server does, fast enough not to be what is measured. Runs as a
process of its own (`python -m tests.browser.fake_log_server`) and prints the port that it took.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import ostler.server
from ostler.protocol.endpoint import Nothing
from ostler.server.pages.api_reference import reference_view
from ostler.server.pages.rendering import Renderer, environment
from ostler.server.pages.views import PageFrame, Section
from tests.browser import sample_views, sample_workflow_views
from tests.browser.fake_logs import make_logs

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
STATIC = Path(ostler.server.__file__).parent / "static"
NEWEST = 1000  # a browser gets at most so many lines an event: it keeps no more
LOGS = make_logs()
DRAW = Renderer(environment())
PAGES = {
    "runs": ("runs", sample_views.RUNS),
    "no-runs": ("runs", sample_views.NO_RUNS),
    "queue": ("queue", sample_views.QUEUE),
    "pools": ("pools", sample_views.POOLS_VIEW),
    "pools/pool_2": ("pool", sample_views.POOL),
    "pools/new": ("pool_new", sample_views.NEW_POOL),
    "pools/pool_2/tokens": ("pool_token", sample_views.POOL_TOKEN),
    "waiting": ("waiting", Nothing()),
    "runners": ("runners", sample_views.RUNNERS),
    "runners/rnr_2": ("runner", sample_views.RUNNER),
    "workflows": ("workflows", sample_workflow_views.WORKFLOWS),
    "no-workflows": ("workflows", sample_workflow_views.NO_WORKFLOWS),
    "workflows/wf_1": ("workflow", sample_workflow_views.WORKFLOW_VIEW),
    "runs/run_41": ("workflow_run", sample_workflow_views.WORKFLOW_RUN),
    "problem": ("problem", sample_views.PROBLEM),
    "sign-in": ("sign_in", sample_views.SIGN_IN),
    "sign-in/code": ("sign_in", sample_views.SIGN_IN_LINK),
    "api": ("api", reference_view()),
    **{f"runs/run_1/jobs/{job}": ("run", view) for job, view in sample_views.RUN_VIEWS.items()},
}


class SecurityHeaders:
    """Sends the content security policy with every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-security-policy", CSP.encode())]
            await send(message)

        await self._app(scope, receive, guarded)


async def page(request: Request) -> Response:
    path = request.path_params["path"]
    fragment = path.startswith("fragments/")
    name, view = PAGES[path.removeprefix("fragments/")]
    section = cast("Section", path.split("/")[0])
    frame = PageFrame(type(view).__name__.removesuffix("View"), section, "ana@example.org", "token", waiting=3)
    return HTMLResponse(DRAW.fragment(name, frame, view) if fragment else DRAW.page(name, frame, view))


async def lines(request: Request) -> Response:
    log = LOGS[request.path_params["job"]]
    total = log.total()
    first = int(request.query_params["from_line"])
    first = max(1, total + first + 1) if first < 0 else first
    found = log.lines(first, min(5000, int(request.query_params["lines"])))
    length = first + len(found) - 1 if log.live and first + len(found) > total else total
    reply = {
        "first_line": first,
        "lines": found,
        "total_lines": length,
        "bytes": length,
        "complete": not log.live,
        "attempt": 1,
    }
    return Response(msgspec.json.encode(reply), media_type="application/json")


async def search(request: Request) -> Response:
    log = LOGS[request.path_params["job"]]
    query, limit = request.query_params["q"], int(request.query_params["limit"])
    first, exact = int(request.query_params["from_line"]), request.query_params["case"] == "1"

    async def records() -> AsyncIterator[bytes]:
        found = 0
        for hit in log.hits(query, first, exact):
            if hit is None:
                await asyncio.sleep(0)
                continue
            found += 1
            yield msgspec.json.encode({"line": hit[0], "text": hit[1][:1000], "spans": []}) + b"\n"
            if found == limit:
                break
        yield msgspec.json.encode({"done": True, "hits": found, "scanned_lines": log.total()}) + b"\n"

    return StreamingResponse(records(), media_type="application/x-ndjson")


async def raw(request: Request) -> Response:
    log = LOGS[request.path_params["job"]]
    return PlainTextResponse("\n".join(line[0] for line in log.lines(1, 100_000)))


async def stream(request: Request) -> Response:
    topics = request.query_params["topics"].split(",")
    logs = [topic.split(":")[1:] for topic in topics if topic.startswith("log:")]

    async def events() -> AsyncIterator[bytes]:
        yield b": here\n\n"
        places = {job: int(offset) for job, offset in logs}
        while True:
            await asyncio.sleep(0.05)
            for job, place in places.items():
                total = LOGS[job].total()
                first = max(place + 1, total - NEWEST + 1)
                places[job] = total
                found = LOGS[job].lines(first, total - first + 1)
                body = {"job": job, "first_line": first, "lines": found, "total_lines": total, "offset": total}
                yield f"event: log\nid: {total}\ndata: {json.dumps(body)}\n\n".encode()

    return StreamingResponse(events(), media_type="text/event-stream")


async def palette(request: Request) -> Response:
    words = request.query_params["q"].lower()
    rows = [row for row in sample_views.RUNS.rows if words in row.title.lower()]
    return JSONResponse({"entries": [{"title": row.title, "detail": "Run", "href": f"/runs/{row.id}"} for row in rows]})


APP = Starlette(
    routes=[
        Route("/api/v1/jobs/{job}/log", lines),
        Route("/api/v1/jobs/{job}/log/search", search),
        Route("/api/v1/jobs/{job}/log/raw", raw),
        Route("/stream", stream),
        Route("/palette", palette),
        Mount("/static", StaticFiles(directory=STATIC)),
        Route("/{path:path}", page),
    ],
    middleware=[Middleware(SecurityHeaders)],
)


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)  # noqa: T201
    config = uvicorn.Config(APP, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
