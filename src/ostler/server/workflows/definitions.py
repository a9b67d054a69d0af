"""The workflow files of a commit, checked, and the workflows that they call."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, NamedTuple

from ostler.actions.library.lock import PLACES as LOCK_FILES, Lock, parse_lock
from ostler.domain.machine import Refused
from ostler.domain.repository import WORKFLOW_FOLDERS
from ostler.protocol.v1.repository_messages import RepositoryView
from ostler.server.git.repositories import LARGEST_WORKFLOW
from ostler.server.git.sources import Origin, Sources
from ostler.store import targets
from ostler.store.database import Database
from ostler.store.sealing import Sealer
from ostler.store.targets import Repository
from ostler.workflow.check import Checked, check_workflow
from ostler.workflow.model import Workflow
from ostler.workflow.run.calling import missing

_REMEMBERED: Final = 64
_MOST_CALLED: Final = 200


class Definition(NamedTuple):
    """One file: the workflow, or why there is none."""

    path: str
    workflow: Workflow | None
    fault: str


class Definitions:
    """Reads workflow files; those of a commit never change, so the last few commits are remembered."""

    def __init__(self, database: Database, sources: Sources, sealer: Sealer) -> None:
        self._database = database
        self._sources = sources
        self._sealer = sealer
        self._known: OrderedDict[tuple[str, ...], dict[str, Definition]] = OrderedDict()

    def origin(self, repository: Repository) -> Origin:
        """Return where a repository is fetched from."""
        view = repository.view
        return Origin(view.id, view.clone_url, view.username, repository.opened("password", self._sealer))

    async def at(self, repository: Repository, sha: str) -> Mapping[str, Definition] | Refused:
        """Return the workflow files of a commit by path."""
        folders = folders_of(repository.view)
        key = (repository.view.id, sha, *folders)
        known = self._known.get(key)
        if known is None:
            files = await self._sources.workflows(self.origin(repository), sha, folders)
            if isinstance(files, Refused):
                return files
            known = self._known[key] = {path: _checked(path, content) for path, content in files.items()}
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return known

    async def called(self, repository: Repository, sha: str, workflow: Workflow) -> dict[str, Workflow] | Refused:
        """Return every workflow that one calls, directly or through others, by what it is called as."""
        called: dict[str, Workflow] = {}
        while wanted := missing(workflow, called):
            for key in wanted:
                found = await self._one(repository, sha, key)
                if isinstance(found, Refused):
                    return found
                called[key] = found
            if len(called) > _MOST_CALLED:
                return Refused("calls_too_deep", f"more than {_MOST_CALLED} workflows are called")
        return called

    async def pins(self, repository: Repository, sha: str) -> dict[str, str] | Refused:
        """Return what the lock file of a commit says of actions; nothing if there is none."""
        files = await self._sources.files(self.origin(repository), sha, LOCK_FILES)
        if isinstance(files, Refused):
            return files
        found = next((files[path] for path in LOCK_FILES if path in files), None)
        lock = parse_lock(found) if found is not None else Lock()
        return lock if isinstance(lock, Refused) else lock.pins

    async def _one(self, repository: Repository, sha: str, key: str) -> Workflow | Refused:
        if key.startswith("./"):
            return await self._found(repository, sha, key.removeprefix("./"), key)
        name, _, ref = key.partition("@")
        owner, short, *rest = name.split("/")
        other = await self._connected(f"{owner}/{short}")
        if other is None or not ref:
            return Refused(
                "workflow_missing",
                f"{key} is in a repository that is not connected; connect it: ostler repository add {short} CLONE_URL",
            )
        resolved = await self._sources.resolve(self.origin(other), ref)
        if isinstance(resolved, Refused):
            return resolved
        return await self._found(other, resolved.sha, "/".join(rest), key)

    async def _found(self, repository: Repository, sha: str, path: str, key: str) -> Workflow | Refused:
        folder = path.rpartition("/")[0]
        files = await self._sources.workflows(self.origin(repository), sha, (folder,))
        if isinstance(files, Refused):
            return files
        if path not in files:
            return Refused("workflow_missing", f"{key} cannot be found")
        definition = _checked(path, files[path])
        if definition.workflow is None:
            return Refused("workflow_missing", f"{key} has mistakes: {definition.fault}")
        return definition.workflow

    async def _connected(self, full_name: str) -> Repository | None:
        for view in await self._database.read(targets.list_all):
            if view.full_name.lower() == full_name.lower():
                found = await self._database.read(targets.get, view.id)
                return None if isinstance(found, Refused) else found
        return None


def folders_of(view: RepositoryView) -> tuple[str, ...]:
    """Return the folders in which a repository's workflows are looked for, the first that exists first."""
    return (view.workflows_path,) if view.workflows_path else WORKFLOW_FOLDERS


def _checked(path: str, content: bytes) -> Definition:
    if len(content) > LARGEST_WORKFLOW:
        return Definition(path, None, f"the file is larger than {LARGEST_WORKFLOW} bytes")
    checked = check_workflow(path, content)
    return Definition(path, checked.workflow, "" if checked.workflow is not None else _fault(checked))


def _fault(checked: Checked) -> str:
    first = checked.errors[0]
    more = len(checked.errors) - 1
    said = f"line {first.span.line}: {first.message}"
    return f"{said} (and {more} more)" if more else said
