"""The workflows of a repository as its default branch has them: what sets them off, and whether they may run."""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.effects import Ids
from ostler.store import targets
from ostler.store.database import hint
from ostler.store.sql import Fields, Sql
from ostler.workflow.model import Schedule, Trigger

_COLUMNS = "id, target_id, path, name, definition, fault, present, disabled, last_number"
_OF_TARGET = Sql(f"SELECT {_COLUMNS} FROM workflows WHERE target_id = :target_id ORDER BY path")
_GET = Sql(f"SELECT {_COLUMNS} FROM workflows WHERE id = :id")
_PUT = Sql(
    "INSERT INTO workflows (id, target_id, path, name, definition, fault, present, disabled, last_number, created_at)"
    " VALUES (:id, :target_id, :path, :name, :definition, :fault, :present, 0, 0, :now)"
    " ON CONFLICT (target_id, path) DO UPDATE SET name = excluded.name, definition = excluded.definition,"
    " fault = excluded.fault, present = excluded.present"
)
_KNOW = Sql(
    "INSERT INTO workflows (id, target_id, path, name, definition, fault, present, disabled, last_number, created_at)"
    " VALUES (:id, :target_id, :path, :name, '[]', '', 0, 0, 0, :now) ON CONFLICT (target_id, path) DO NOTHING"
)
_ABSENT = Sql("UPDATE workflows SET present = 0 WHERE target_id = :target_id AND NOT (path [among paths])")
_DISABLE = Sql("UPDATE workflows SET disabled = :disabled WHERE id = :id")
_NUMBER = Sql("UPDATE workflows SET last_number = last_number + 1 WHERE id = :id RETURNING last_number")

_triggers = msgspec.json.Decoder(tuple[Trigger, ...]).decode


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow. ``present`` says whether the default branch has its file."""

    id: str
    target_id: str
    path: str
    name: str
    on: tuple[Trigger, ...]
    fault: str
    present: bool
    disabled: bool
    last_number: int

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """When it runs by itself."""
        return tuple(each for trigger in self.on for each in trigger.schedules)

    def trigger(self, event: str) -> Trigger | None:
        """Return the entry of ``on`` for an event."""
        return next((trigger for trigger in self.on if trigger.event == event), None)


class Found(msgspec.Struct, frozen=True):
    """A workflow file as it was read: what it says, or why it cannot run."""

    path: str
    name: str
    on: tuple[Trigger, ...] = ()
    fault: str = ""


def sync(connection: Connection, target_id: str, found: Sequence[Found], ids: Ids, now: int) -> list[Workflow]:
    """Store what the default branch has now."""
    for each in found:
        _PUT.run(
            connection,
            id=ids.new("wfl"),
            target_id=target_id,
            path=each.path,
            name=each.name,
            definition=msgspec.json.encode(each.on).decode(),
            fault=each.fault[:2000],
            present=1,
            now=now,
        )
    _ABSENT.run(connection, target_id=target_id, paths=[each.path for each in found])
    hint(connection, f"target:{target_id}")
    return of_target(connection, target_id)


def ensure(connection: Connection, target_id: str, path: str, name: str, workflow_id: str, now: int) -> Workflow:
    """Return the workflow of a path, which another branch may have before the default branch does."""
    _KNOW.run(connection, id=workflow_id, target_id=target_id, path=path, name=name, now=now)
    return next(each for each in of_target(connection, target_id) if each.path == path)


def of_target(connection: Connection, target_id: str) -> list[Workflow]:
    """Return the workflows of a repository by path."""
    return [_workflow(row) for row in _OF_TARGET.rows(connection, target_id=target_id)]


def list_all(connection: Connection, target: str) -> list[Workflow] | Refused:
    """Return the workflows of a repository that is known by id or name."""
    found = targets.view(connection, target)
    return found if isinstance(found, Refused) else of_target(connection, found.id)


def get(connection: Connection, target: str, workflow: str) -> Workflow | Refused:
    """Return a workflow by its id, path, file name or name; where several fit, the one that is present."""
    known = list_all(connection, target)
    if isinstance(known, Refused):
        return known
    fitting = [each for each in known if workflow in (each.id, each.path, each.path.rpartition("/")[2])]
    fitting = fitting or [each for each in known if each.name == workflow]
    if not fitting:
        names = ", ".join(each.path.rpartition("/")[2] for each in known if each.present) or "none"
        return Refused("not_found", f"there is no workflow {workflow!r}; there is {names}")
    return max(fitting, key=lambda each: each.present)


def by_id(connection: Connection, workflow_id: str) -> Workflow | None:
    """Return a workflow."""
    row = _GET.row(connection, id=workflow_id)
    return None if row is None else _workflow(row)


def disable(connection: Connection, target: str, workflow: str, *, disabled: bool) -> Workflow | Refused:
    """Stop a workflow from running, or let it run again."""
    found = get(connection, target, workflow)
    if isinstance(found, Refused):
        return found
    _DISABLE.run(connection, id=found.id, disabled=int(disabled))
    hint(connection, f"target:{found.target_id}")
    return msgspec.structs.replace(found, disabled=disabled)


def next_number(connection: Connection, workflow_id: str) -> int:
    """Return the number of a workflow's next run."""
    row = _NUMBER.row(connection, id=workflow_id)
    if row is None:
        raise LookupError(f"there is no workflow {workflow_id}")
    return row[0]


def _workflow(row: Fields) -> Workflow:
    workflow_id, target_id, path, name, definition, fault, present, disabled, last_number = row
    return Workflow(
        id=workflow_id,
        target_id=target_id,
        path=path,
        name=name,
        on=_triggers(definition),
        fault=fault,
        present=bool(present),
        disabled=bool(disabled),
        last_number=last_number,
    )
