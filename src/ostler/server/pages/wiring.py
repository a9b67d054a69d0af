"""The pages' parts and their addresses: the table of contents of everything a browser may ask for."""

from msgspec import Struct

from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.server.authentication import Authentication
from ostler.server.calls.artifacts import ArtifactCalls
from ostler.server.calls.tokens import TokenCalls
from ostler.server.calls.workflows import WorkflowCalls
from ostler.server.hub import Hub
from ostler.server.keys import MasterKey
from ostler.server.log_followers import LogFollowers
from ostler.server.pages.api_reference import reference_view
from ostler.server.pages.exchange import Answer, Drawn, Live, Moved, PageRequest
from ostler.server.pages.live import PageStreams, asked
from ostler.server.pages.palette import Palette
from ostler.server.pages.pool_pages import PoolPages
from ostler.server.pages.queue_pages import QueuePages
from ostler.server.pages.rendering import Renderer, environment
from ostler.server.pages.run_pages import RunPages
from ostler.server.pages.runner_pages import RunnerPages
from ostler.server.pages.sessions import HOME, SIGN_IN, Sessions
from ostler.server.pages.site import FRAGMENTS, Handler, Needs, Row, Site
from ostler.server.pages.static_files import StaticFiles
from ostler.server.pages.workflow_pages import WorkflowPages
from ostler.server.pages.workflow_run_pages import WorkflowRunPages
from ostler.store.database import Database
from ostler.store.sealing import Sealer


class PageParts(Struct, frozen=True, kw_only=True):
    """What the pages are built from; ``url`` is the address that people and runners use."""

    database: Database
    key: MasterKey
    sealer: Sealer
    authentication: Authentication
    tokens: TokenCalls
    followers: LogFollowers
    hub: Hub
    effects: Effects
    url: str
    artifacts: ArtifactCalls
    workflows: WorkflowCalls


def site(parts: PageParts) -> Site:
    """Return the pages, ready to serve."""
    static = StaticFiles()
    sessions = Sessions(parts.database, parts.key, parts.effects, secure=parts.url.startswith("https:"))
    return Site(
        [*_of_people(sessions), *_of_runs(parts), *_of_workflows(parts), *_of_the_fleet(parts), *_of_all_pages(parts)],
        static=static,
        renderer=Renderer(environment(static.base)),
        sessions=sessions,
        authentication=parts.authentication,
        database=parts.database,
        ids=parts.effects.ids,
    )


def _of_people(sessions: Sessions) -> list[Row]:
    return [
        Row("GET", SIGN_IN, sessions.page, Needs.NOBODY),
        Row("GET", f"{SIGN_IN}/{{code}}", sessions.link, Needs.NOBODY),
        Row("POST", SIGN_IN, sessions.enter, Needs.NOBODY),
        Row("POST", "/sign-out", sessions.leave),
    ]


def _of_runs(parts: PageParts) -> list[Row]:
    workflow_runs = WorkflowRunPages(parts.database, parts.artifacts, parts.effects)
    runs = RunPages(parts.database, parts.sealer, parts.effects, workflow_runs)
    queue = QueuePages(parts.database)
    return [
        Row("GET", "/", _home),
        *_shown("/runs", runs.runs),
        *_shown("/runs/{run}", runs.run),
        *_shown("/runs/{run}/jobs/{job}", runs.run),
        Row("GET", "/jobs/{job}", runs.job),
        Row("POST", "/runs/{run}/cancel", runs.cancel),
        Row("POST", "/runs/{run}/rerun", runs.rerun),
        Row("POST", "/runs/{run}/rerun-failed", workflow_runs.rerun_failed),
        Row("POST", "/runs/{run}/jobs/{job}/rerun", workflow_runs.rerun_job),
        Row("POST", "/runs/{run}/approve", workflow_runs.approve, Needs.OPERATOR),
        Row("GET", "/runs/{run}/artifacts/{artifact}", workflow_runs.artifact),
        *_shown("/queue", queue.queue),
    ]


def _of_workflows(parts: PageParts) -> list[Row]:
    workflows = WorkflowPages(parts.database, parts.workflows)
    return [
        *_shown("/workflows", workflows.workflows),
        *_shown("/workflows/{workflow}", workflows.workflow),
        Row("POST", "/workflows/{workflow}/dispatch", workflows.dispatch, Needs.OPERATOR),
        Row("POST", "/workflows/{workflow}/{change}", workflows.change, Needs.OPERATOR),
        Row("POST", "/repositories/{repository}/sync", workflows.sync, Needs.OPERATOR),
    ]


def _of_the_fleet(parts: PageParts) -> list[Row]:
    pools = PoolPages(parts.database, parts.tokens, parts.effects, url=parts.url)
    runners = RunnerPages(parts.database, parts.effects)
    return [
        *_shown("/pools", pools.pools),
        Row("GET", "/pools/new", pools.new, Needs.OPERATOR),
        Row("POST", "/pools", pools.create, Needs.OPERATOR),
        *_shown("/pools/{pool}", pools.pool),
        Row("POST", "/pools/{pool}/tokens", pools.token, Needs.OPERATOR),
        Row("POST", "/pools/{pool}/{change}", pools.change, Needs.OPERATOR),
        *_shown("/runners", runners.runners),
        *_shown("/runners/{runner}", runners.runner),
        Row("POST", "/runners/{runner}/{decision}", runners.decide, Needs.OPERATOR),
    ]


def _of_all_pages(parts: PageParts) -> list[Row]:
    streams = PageStreams(parts.followers, parts.hub, parts.effects.clock)

    async def stream(request: PageRequest) -> Answer:
        async def signed_in() -> bool:
            return await parts.authentication.person("GET", request.headers) is not None

        wanted = asked(request.query.get("topics", ""), request.headers.get("last-event-id", ""))
        return Live(streams.follow(wanted, signed_in))

    return [
        Row("GET", "/stream", stream, Needs.NOBODY),  # it says itself that nobody is signed in
        Row("GET", "/palette", Palette(parts.database).entries),
        Row("GET", f"{FRAGMENTS}/waiting", _waiting),
        Row("GET", "/api", _reference, Needs.NOBODY),
    ]


def _shown(path: str, handler: Handler) -> tuple[Row, Row]:
    return Row("GET", path, handler), Row("GET", f"{FRAGMENTS}{path}", handler)


async def _home(request: PageRequest) -> Answer:
    del request
    return Moved(HOME)


async def _waiting(request: PageRequest) -> Answer:
    """The number beside "Queue", which is in the frame of every page."""
    del request
    return Drawn("waiting", "", "queue", Nothing())


async def _reference(request: PageRequest) -> Answer:
    del request
    return Drawn("api", "API", "", reference_view())
