"""Keeping the list of a repository's workflows as its default branch has them."""

from typing import NamedTuple

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.server.git.sources import Sources
from ostler.server.workflows.definitions import Definition, Definitions
from ostler.server.workflows.timetable import lines_of
from ostler.store import schedules, targets, workflows
from ostler.store.database import Database
from ostler.store.triggers import Trigger
from ostler.store.workflows import Found, Workflow


class Synced(NamedTuple):
    """What was read: the branch, its commit, and how many workflows it has."""

    branch: str
    sha: str
    workflows: int


class Syncer:
    """See the module."""

    def __init__(self, database: Database, sources: Sources, definitions: Definitions, effects: Effects) -> None:
        self._database = database
        self._sources = sources
        self._definitions = definitions
        self._effects = effects

    async def sync(self, target: str) -> Synced | Refused:
        """Read the default branch of a repository and store which workflows it has."""
        repository = await self._database.read(targets.get, target)
        if isinstance(repository, Refused):
            return repository
        view = repository.view
        resolved = await self._sources.resolve(self._definitions.origin(repository), view.default_branch)
        if isinstance(resolved, Refused):
            return await self._failed(view.id, resolved)
        found = await self._definitions.at(repository, resolved.sha)
        if isinstance(found, Refused):
            return await self._failed(view.id, found)
        branch = resolved.ref.removeprefix("refs/heads/")
        synced = Synced(branch, resolved.sha, len(found))
        files = [_found(each) for each in found.values()]
        await self._database.run(self._stored, view.id, files, synced, self._effects.clock.now())
        return synced

    async def after_push(self, trigger: Trigger) -> None:
        """Read the default branch again if that is what was pushed."""
        repository = await self._database.read(targets.view, trigger.target_id)
        if isinstance(repository, Refused):
            return
        default = f"refs/heads/{repository.default_branch}"
        if not repository.default_branch or trigger.occurrence.ref == default:
            await self.sync(repository.id)

    async def _failed(self, target_id: str, why: Refused) -> Refused:
        now = self._effects.clock.now()
        await self._database.run(targets.synced, target_id, sha="", branch="", fault=why.reason, now=now)
        return why

    def _stored(
        self, connection: Connection, target_id: str, files: list[Found], synced: Synced, now: int
    ) -> list[Workflow]:
        targets.synced(connection, target_id, sha=synced.sha, branch=synced.branch, fault="", now=now)
        known = workflows.sync(connection, target_id, files, self._effects.ids, now)
        runnable = [each for each in known if each.present and not each.fault]
        lines = [line for each in runnable for line in lines_of(target_id, each.id, each.schedules, now)]
        schedules.replace(connection, target_id, lines)
        return known


def _found(definition: Definition) -> Found:
    workflow = definition.workflow
    if workflow is None:
        return Found(definition.path, definition.path, fault=definition.fault)
    return Found(definition.path, workflow.name or workflow.path, workflow.on)
