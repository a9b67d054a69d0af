"""The parts that make runs of happenings, how they fit, and the loops and calls that they bring along."""

import os
from pathlib import Path

from ostler.effects import Effects
from ostler.server.call import Handlers
from ostler.server.calls.webhooks import WebhookCalls
from ostler.server.calls.workflow_runs import WorkflowRunCalls
from ostler.server.calls.workflows import WorkflowCalls
from ostler.server.forges.outbox import ForgeOutbox
from ostler.server.git.program import Git
from ostler.server.git.repositories import GitSources
from ostler.server.git.sources import Sources
from ostler.server.loops import Loop
from ostler.server.settings import ServerSettings
from ostler.server.workflows.definitions import Definitions
from ostler.server.workflows.driver import Driver
from ostler.server.workflows.inbox import Inbox
from ostler.server.workflows.starting import Starter
from ostler.server.workflows.syncing import Syncer
from ostler.server.workflows.timetable import Timetable
from ostler.store import forge_statuses, triggers, workflow_wakes
from ostler.store.database import Database
from ostler.store.sealing import Sealer

_LOOK_SECONDS = 15.0
"""Whatever is to be done is hinted at once; this is for what was to be done later, and for hints that were lost."""
_SCHEDULE_SECONDS = 5.0


class WorkflowParts:
    """See the module."""

    def __init__(
        self, settings: ServerSettings, database: Database, sources: Sources, sealer: Sealer, effects: Effects
    ) -> None:
        definitions = Definitions(database, sources, sealer)
        self.syncer = Syncer(database, sources, definitions, effects)
        starter = Starter(database, sources, definitions, effects)
        self.inbox = Inbox(database, starter, self.syncer, effects)
        self.driver = Driver(database, sealer, effects)
        self.calls = WorkflowCalls(database, self.inbox, self.syncer, effects)
        self.timetable = Timetable(database, effects)
        self.forges = ForgeOutbox(database, sealer, effects, settings.url, private=settings.private_networks)
        self._calls = (
            self.calls.handlers(),
            WorkflowRunCalls(database, effects).handlers(),
            WebhookCalls(database, sealer, effects).handlers(),
        )

    def handlers(self) -> tuple[Handlers, ...]:
        """The rows served here."""
        return self._calls

    def loops(self) -> list[Loop]:
        """What goes on in the background: every replica may do any of it."""
        return [
            Loop("workflows", _LOOK_SECONDS, self.driver.round, exclusive=False, topic=workflow_wakes.TOPIC),
            Loop("schedules", _SCHEDULE_SECONDS, self.timetable.round),
            Loop("statuses", _LOOK_SECONDS, self.forges.round, topic=forge_statuses.TOPIC),
            Loop("triggers", _LOOK_SECONDS, self.inbox.round, exclusive=False, topic=triggers.TOPIC),
        ]


def git_sources(settings: ServerSettings) -> Sources:
    """Return the repositories as git finds them."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = settings.git_cache or home / "ostler" / "git"
    return GitSources(cache, Git(os.environ), private=settings.private_networks)
