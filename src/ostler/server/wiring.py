"""The control plane's parts and how they fit: read it like a parts list."""

import asyncio
import contextlib

from ostler.blobs import Blobs
from ostler.effects import Effects
from ostler.protocol.v1.table import ENDPOINTS
from ostler.server.application import Application
from ostler.server.authentication import Authentication
from ostler.server.calls import job_identity
from ostler.server.calls.actions import ActionCalls
from ostler.server.calls.artifacts import ArtifactCalls
from ostler.server.calls.caches import CacheCalls
from ostler.server.calls.enrolment import EnrolmentCalls
from ostler.server.calls.logs import LogCalls
from ostler.server.calls.pools import PoolCalls
from ostler.server.calls.reports import ReportCalls
from ostler.server.calls.repositories import RepositoryCalls
from ostler.server.calls.runners import RunnerCalls
from ostler.server.calls.runs import RunCalls
from ostler.server.calls.session import SessionCalls
from ostler.server.calls.tokens import TokenCalls
from ostler.server.calls.work import WorkCalls
from ostler.server.dispatch import Dispatcher
from ostler.server.git.sources import Sources
from ostler.server.hub import DRAIN_TOPIC, Hub
from ostler.server.keys import AesSealer, MasterKey
from ostler.server.log_followers import LogFollowers
from ostler.server.log_store import LogStore
from ostler.server.loops import Loops
from ostler.server.maintenance import Maintenance, StoreLeadership
from ostler.server.metrics import Metrics
from ostler.server.pages.site import Site
from ostler.server.pages.wiring import PageParts, site
from ostler.server.probes import Probes
from ostler.server.routing import Router
from ostler.server.settings import ServerSettings
from ostler.server.storage_upkeep import StorageUpkeep
from ostler.server.uploads import Uploads
from ostler.server.workflow_wiring import WorkflowParts, git_sources
from ostler.store.database import Database
from ostler.store.sealing import Sealer


class Control:
    """A wired control plane: an ASGI application, and what its process may ask of it."""

    def __init__(
        self,
        settings: ServerSettings,
        key: MasterKey,
        database: Database,
        blobs: Blobs,
        effects: Effects,
        sources: Sources | None = None,
    ) -> None:
        self.settings = settings
        self.database = database
        self.effects = effects
        self.hub = Hub()
        self.metrics = Metrics()
        self.log_store = LogStore(database, blobs, effects, self.metrics)
        self.followers = LogFollowers(self.log_store, self.hub)
        self.authentication = Authentication(database, key, self.hub, effects, self.metrics)
        self.dispatcher = Dispatcher(database, self.hub, effects, self.metrics)
        self.probes = Probes({"database": database.check, "blobs": blobs.check}, self.metrics)
        self.tokens = TokenCalls(database, effects)
        maintenance = Maintenance(
            database, blobs, self.log_store, effects, self.metrics, retention_days=settings.retention_days
        )
        uploads = Uploads(database, blobs, effects)
        self.artifacts = ArtifactCalls(database, blobs, uploads, effects, settings.storage)
        self._storage_calls = (
            self.artifacts.handlers(),
            CacheCalls(database, blobs, uploads, effects, settings.storage).handlers(),
            ActionCalls(database, blobs, effects).handlers(),
        )
        upkeep = StorageUpkeep(database, blobs, effects, settings.storage)
        leadership = StoreLeadership(database, effects)
        sealer = AesSealer(key, effects.random)
        self.workflows = WorkflowParts(settings, database, sources or git_sources(settings), sealer, effects)
        loops = [*maintenance.loops(), *upkeep.loops(), *self.workflows.loops()]
        self._loops = Loops(loops, leadership, self.hub, effects, self.metrics)
        self._dispatching: asyncio.Task[None] | None = None
        self.started = asyncio.Event()
        self.router = self._router(sealer)
        self.application = Application(
            router=self.router, pages=self._pages(key, sealer), probes=self.probes, start=self._start, stop=self._stop
        )

    def drain(self) -> None:
        """Answer every held poll and end every stream; what comes after goes to another replica."""
        self.probes.draining = True
        self.dispatcher.drain()
        self.hub.publish(DRAIN_TOPIC)

    def _router(self, sealer: Sealer) -> Router:
        database, effects = self.database, self.effects
        work = WorkCalls(database, self.authentication, self.dispatcher, sealer, effects, self.metrics)
        parts = (
            EnrolmentCalls(database, self.authentication, effects, self.metrics).handlers(),
            SessionCalls(database, effects).handlers(),
            work.handlers(),
            ReportCalls(database, self.log_store, effects).handlers(),
            RunCalls(database, sealer, effects).handlers(),
            LogCalls(self.log_store, self.followers).handlers(),
            PoolCalls(database, effects).handlers(),
            RunnerCalls(database, work, effects).handlers(),
            self.tokens.handlers(),
            RepositoryCalls(database, sealer, effects, self.settings.url).handlers(),
            job_identity.handlers(),
            *self._storage_calls,
            *self.workflows.handlers(),
        )
        router = Router(parts, self.authentication, effects.ids, self.metrics)
        unserved = {endpoint.name for endpoint in ENDPOINTS} - router.names()
        if unserved:
            raise LookupError(f"no handler serves {', '.join(sorted(unserved))}")
        return router

    def _pages(self, key: MasterKey, sealer: Sealer) -> Site:
        parts = PageParts(
            database=self.database,
            key=key,
            sealer=sealer,
            authentication=self.authentication,
            tokens=self.tokens,
            followers=self.followers,
            hub=self.hub,
            effects=self.effects,
            url=self.settings.url,
            artifacts=self.artifacts,
            workflows=self.workflows.calls,
        )
        return site(parts)

    async def _start(self) -> None:
        self.database.listen(self.hub.publish)
        self._dispatching = asyncio.create_task(self.dispatcher.run(), name="dispatcher")
        self._loops.start()
        self.started.set()

    async def _stop(self) -> None:
        await self._loops.close()
        if self._dispatching is not None:
            self._dispatching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._dispatching
