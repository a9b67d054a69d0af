"""Where the actions of one job come from; opened when the first is asked for, which many jobs never do."""

from __future__ import annotations

from pathlib import Path

from ostler.actions.library.library import Found, Library
from ostler.actions.library.references import Remote
from ostler.actions.library.sources import open_sources
from ostler.agent.supervision import JobOrder
from ostler.domain.machine import Refused


class JobActions:
    """The library as one job sees it. See ``actions.engine.calls.Finder``."""

    def __init__(self, order: JobOrder, path: str) -> None:
        self._order = order
        self._temp = Path(path, "tmp")
        self._library: Library | None = None

    def find(self, remote: Remote) -> Found | Refused:
        if self._library is None:
            self._library = self._open()
        return self._library.find(remote)

    def _open(self) -> Library:
        program, services = self._order.program, self._order.services
        return Library(
            cache=Path(services.cache) if services.cache else self._temp / "action-cache",
            into=self._temp / "actions",
            sources=open_sources(services.mirrors, services.server, services.token, services.reach),
            pins=program.actions if program else {},
            real=(*services.real_actions, *(program.real_actions if program else ())),
        )
