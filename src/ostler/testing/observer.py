"""What the control plane has committed, told to the history after each commit.

Triggers on the tables write down every change of a job or an attempt inside the transaction that makes it, so what is
rolled back is never told and nothing that is committed is missed, whichever function of the store did it.
"""

import json
import sqlite3
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection

from ostler.domain.job import JobKind
from ostler.store.inline import InlineDatabase
from ostler.testing.history import History
from ostler.testing.loop import SimLoop
from ostler.testing.record import Kind

LEASE_SECONDS = 45.0
SILENCE_SECONDS = 600.0
TOLERANCE_SECONDS = 25.0
"""A clock may jump by so much before the server notices that it did."""

AWAY_SECONDS = 20.0
"""Servers write every two seconds; if nothing was written for so long, none was there."""

ENDED = frozenset({"succeeded", "failed", "cancelled"})

_TRIGGERS = (
    "CREATE TEMP TABLE observed (serial INTEGER PRIMARY KEY, what TEXT, job TEXT, fence INTEGER, facts TEXT)",
    """CREATE TEMP TRIGGER observe_submission AFTER INSERT ON main.jobs BEGIN
    INSERT INTO observed (what, job, fence, facts)
    VALUES ('submitted', NEW.id, 0, json_array(NEW.kind, NEW.name)); END""",
    """CREATE TEMP TRIGGER observe_job AFTER UPDATE OF state ON main.jobs WHEN OLD.state <> NEW.state BEGIN
    INSERT INTO observed (what, job, fence, facts)
    VALUES ('job', NEW.id, NEW.fence, json_array(OLD.state, NEW.state)); END""",
    """CREATE TEMP TRIGGER observe_claim AFTER INSERT ON main.attempts BEGIN
    INSERT INTO observed (what, job, fence, facts) VALUES ('claimed', NEW.job_id, NEW.fence, json_array(
    NEW.runner_id, NEW.runner_name, NEW.slot, (SELECT admission FROM runners WHERE id = NEW.runner_id))); END""",
    """CREATE TEMP TRIGGER observe_attempt AFTER UPDATE ON main.attempts
    WHEN OLD.state <> NEW.state OR OLD.start_key IS NOT NEW.start_key OR OLD.finish_key IS NOT NEW.finish_key
    OR (OLD.lease_expires_at IS NULL) <> (NEW.lease_expires_at IS NULL)
    OR OLD.log_bytes <> NEW.log_bytes OR OLD.events_stored <> NEW.events_stored BEGIN
    INSERT INTO observed (what, job, fence, facts) VALUES ('attempt', NEW.job_id, NEW.fence, json_array(
    OLD.lease_expires_at IS NOT NULL, NEW.lease_expires_at IS NOT NULL, OLD.state, NEW.state,
    OLD.start_key IS NOT NEW.start_key, NEW.finish_key IS NOT NULL,
    (SELECT admission FROM runners WHERE id = NEW.runner_id))); END""",
    """CREATE TEMP TRIGGER observe_runner AFTER UPDATE OF last_seen_at ON main.runners BEGIN
    INSERT INTO observed (what, job, fence, facts) VALUES ('seen', NEW.id, 0, '[]'); END""",
)


class _Held(NamedTuple):
    """An attempt that the server holds open."""

    runner_id: str
    runner: str
    slot: str
    since: float


class _Change(NamedTuple):
    """What a transaction made of an attempt."""

    was_open: int
    is_open: int
    before: str
    after: str
    granted: int
    by_runner: int
    admission: str | None


class Observer:
    """One for each simulated database."""

    def __init__(self, database: InlineDatabase, history: History, loop: SimLoop) -> None:
        self._database = database
        self._history = history
        self._loop = loop
        self._seen: dict[str, float] = {}
        self._held: dict[tuple[str, int], _Held] = {}
        self._names: dict[str, str] = {}
        self._committed_at = 0.0
        self._back_at = 0.0
        for statement in _TRIGGERS:
            database.read_now(_execute, statement)

    def committed(self) -> None:
        """Tell the history what the latest commit has changed."""
        now = self._loop.time()
        if now - self._committed_at > AWAY_SECONDS:
            self._back_at = now
        self._committed_at = now
        told = self._database.read_now(_drain)
        for what, job, fence, facts in told:
            if what == "submitted":
                self._submitted(job, *facts)
            elif what == "claimed":
                self._claimed(job, fence, *facts)
            elif what == "attempt":
                self._attempt(job, fence, _Change(*facts))
        # Jobs after their attempts, because an end is only right together with that of its attempt; and runners last,
        # because what was decided in this commit was decided before they were seen.
        for what, job, fence, facts in told:
            if what == "job":
                self._job(job, fence, *facts)
        for what, runner_id, _, _ in told:
            if what == "seen":
                self._seen[runner_id] = now

    def _submitted(self, job: str, kind: str, name: str) -> None:
        self._history.submitted(job, _KINDS[JobKind(kind)])
        if name in self._names:
            self._history.wronged(job, f"I9 {name} was accepted before, as {self._names[name]}")
        self._names[name] = job

    def _claimed(self, job: str, fence: int, runner_id: str, runner: str, slot: str, admission: str) -> None:
        self._history.claimed(job, fence, runner)
        held = [one for one in self._held.values() if (one.runner_id, one.slot) == (runner_id, slot)]
        self._history.limited(f"attempts in the {slot} slot of {runner}", len(held) + 1, 1)
        if admission != "active":
            self._history.wronged(job, f"I7 claimed by {runner}, which is {admission}")
        self._held[job, fence] = _Held(runner_id, runner, slot, self._loop.time())

    def _attempt(self, job: str, fence: int, change: _Change) -> None:
        was_open, is_open, before, after, granted, by_runner, admission = change
        if not was_open:
            self._history.wronged(job, f"I6 attempt {fence} changed from {before} to {after} after its end")
            return
        held = self._held[job, fence]
        self._history.wrote(job, fence, after)
        if granted:
            self._history.granted(job, fence, held.runner)
        if not is_open:
            del self._held[job, fence]
            if after == "lost" and not by_runner:
                self._history.gave_up(job, fence, self._wrongly(job, fence, held, admission))

    def _wrongly(self, job: str, fence: int, held: _Held, admission: str | None) -> str:
        """Why a started attempt should not have been given up (rule 8); nothing if it was right."""
        record = self._history.jobs[job]
        heard = max(held.since, self._back_at, self._seen.get(held.runner_id, 0.0))
        silence = self._loop.time() - heard
        lease = record.kind == "lease"
        if (
            admission in (None, "revoked")
            or silence > (LEASE_SECONDS if lease else SILENCE_SECONDS) - TOLERANCE_SECONDS
        ):
            return ""
        runs = fence not in record.gone_at and any(start.fence == fence for start in record.executions)
        if lease and not runs:  # the runner fenced itself: its renewals came through, the replies did not
            return ""
        return f"I5 attempt {fence} was given up {silence:.0f} s after its runner {held.runner} was heard"

    def _job(self, job: str, fence: int, before: str, after: str) -> None:
        if after == "cancelling":
            self._history.cancelling(job)
        if before in ENDED:
            self._history.wronged(job, f"I9 went from {before} to {after}")
        if after in ENDED:
            if (job, fence) in self._held:
                self._history.wronged(job, f"I6 ended as {after} while attempt {fence} goes on")
            self._history.ended(job, fence, after)


_KINDS: dict[JobKind, Kind] = {
    JobKind.CI: "ci",
    JobKind.DEPLOYMENT: "deployment",
    JobKind.INSIGHTS_SCAN: "lease",
    JobKind.POLICY_EVALUATION: "lease",
}


def _execute(connection: Connection, statement: str) -> list[Any]:
    """By the driver's own cursor: this follows each commit, and most have nothing to tell."""
    return cast("sqlite3.Connection", connection.connection.dbapi_connection).execute(statement).fetchall()


def _drain(connection: Connection) -> list[tuple[str, str, int, list[Any]]]:
    rows = _execute(connection, "SELECT what, job, fence, facts FROM observed ORDER BY serial")
    if rows:
        _execute(connection, "DELETE FROM observed")
    return [(row[0], row[1], row[2], json.loads(row[3])) for row in rows]
