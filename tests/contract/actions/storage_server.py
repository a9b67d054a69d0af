"""A control plane on a real socket, in a thread of its own: what the built-in actions talk to outside local runs."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any, NamedTuple, Self, TypeVar

from ostler.server.serving import GracefulServer, listen, server
from ostler.store.inline import InlineDatabase
from tests.contract.server.installation import Installation
from tests.contract.server.storing import Job, job_of

T = TypeVar("T")


class Granted(NamedTuple):
    """A job that is under way, as its actions know it."""

    run_id: str
    token: str
    job: Job


class StorageServer:
    """Starts with the context and stops with it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runners = 0
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._wait(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def job(self, repository: str = "tgt_app", ref: str = "refs/heads/main", *, trusted: bool = True) -> Granted:
        """Begin a job of a new run."""
        return self._wait(self._job(repository, ref, trusted))

    def person(self) -> str:
        """Return a token of somebody who may import actions."""
        return self._wait(self._installation.user()).token

    def end(self, granted: Granted) -> None:
        self._wait(granted.job.end())

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        waiting: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return waiting.result(20)

    async def _job(self, repository: str, ref: str, trusted: bool) -> Granted:
        self._runners += 1
        runner = await self._installation.runner(f"runner-{self._runners}")
        job = await job_of(self._installation, runner, repository=repository, ref=ref, trusted=trusted)
        return Granted(job.run_id, job.token, job)

    async def _start(self) -> None:
        self._database = InlineDatabase()
        self._installation = Installation(self._database)
        listener = listen("127.0.0.1", 0)
        self._running: GracefulServer = server(self._installation.control.application, self._installation.control.drain)
        self._running.config.loop = "asyncio"
        # A thread cannot catch signals.
        self._running.capture_signals = nullcontext  # pyright: ignore[reportAttributeAccessIssue]
        self._task = asyncio.create_task(self._running.serve(sockets=[listener]))
        await self._installation.control.started.wait()
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    async def _stop(self) -> None:
        self._running.stop()
        await self._task
        await self._database.close()
