"""What people decide about runners: pause, drain, disable, quarantine, revoke, with a note and for how long."""

from sqlalchemy import Connection

from ostler.domain.job import lapse
from ostler.domain.machine import Refused
from ostler.domain.runner import ADMISSION_MACHINE, Admission, AdmissionEvent
from ostler.protocol.v1.fleet_messages import AdmissionRequest, RunnerView
from ostler.store import attempts, runners
from ostler.store.database import hint
from ostler.store.sql import Sql
from ostler.store.transitions import Change, decide, load, write

_LOCK = Sql("SELECT admission, pool_id FROM runners WHERE id = :runner_id [lock]")
_SET = Sql("UPDATE runners SET admission = :admission, note = :note, paused_until = :until WHERE id = :runner_id")
_RESUME = Sql(
    "UPDATE runners SET admission = 'active', note = '', paused_until = NULL WHERE admission = 'paused'"
    " AND paused_until <= :now RETURNING id, pool_id"
)
_REVOKE_KEYS = Sql("UPDATE runner_keys SET revoked_at = :now WHERE runner_id = :runner_id AND revoked_at IS NULL")


def admit(connection: Connection, runner: str, request: AdmissionRequest, now: int) -> RunnerView | Refused:
    """Carry out a decision. Revoking also ends the runner's keys and takes from it everything it holds."""
    found = runners.get(connection, runner)
    if isinstance(found, Refused):
        return found
    row = _LOCK.row(connection, runner_id=found.id)
    if row is None:
        return Refused("not_found", f"there is no runner {runner!r}")
    event = AdmissionEvent(request.decision)
    admission = ADMISSION_MACHINE.after(Admission(row[0]), event)
    if isinstance(admission, Refused):
        return Refused("transition_refused", admission.reason)
    lasts = request.for_ms is not None and admission is Admission.PAUSED
    until = now + request.for_ms * 1000 if lasts and request.for_ms is not None else None
    _SET.run(connection, runner_id=found.id, admission=admission.value, note=request.note, until=until)
    if admission is Admission.REVOKED:
        _REVOKE_KEYS.run(connection, runner_id=found.id, now=now)
        _take_everything(connection, found.id, now)
    _tell(connection, found.id, row[1])
    return runners.get(connection, found.id)


def resume_due(connection: Connection, now: int) -> list[str]:
    """Resume runners whose pause is over; return their ids."""
    rows = _RESUME.rows(connection, now=now)
    for runner_id, pool_id in rows:
        _tell(connection, runner_id, pool_id)
    return [row[0] for row in rows]


def _take_everything(connection: Connection, runner_id: str, now: int) -> None:
    held = load(connection, [(lease.job_id, lease.fence) for lease in attempts.open_attempts(connection, runner_id)])
    changes = [change for each in held.values() if isinstance(change := decide(each, lapse(each.job), now), Change)]
    write(connection, changes, now)


def _tell(connection: Connection, runner_id: str, pool_id: str) -> None:
    hint(connection, "runners")
    hint(connection, f"facts:{runner_id}")
    hint(connection, f"runner:{runner_id}")
    hint(connection, f"pool:{pool_id}")
