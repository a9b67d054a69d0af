"""Submitting runs: thousands in one transaction, each with a key that makes a repetition harmless.

What costs time (encoding, sealing, hashing) happens in `prepare`, outside of the transaction.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import JobKind, JobState
from ostler.domain.labels import checked_labels
from ostler.domain.machine import Refused
from ostler.domain.run import RunState
from ostler.effects import Ids
from ostler.logs.masker import why_not_masked
from ostler.protocol.v1.run_messages import SubmitRequest
from ostler.protocol.v1.spec import LONGEST_NAME, JobSpec, fault_in
from ostler.scheduling.demand import DemandClass
from ostler.store import demands, pools
from ostler.store.database import hint
from ostler.store.sealing import Sealer
from ostler.store.sql import Insert, Sql, Value
from ostler.store.transitions import ALONE_IN_ITS_RUN, OF_A_WORKFLOW

DEFAULT_ORGANIZATION: Final = "org_default"

_SECRETS = msgspec.json.Decoder(dict[str, str])
_SPEC = msgspec.json.Decoder(JobSpec)


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A run of one job, ready to be stored. ``urgency`` and age decide its place in the queue."""

    run_id: str
    job_id: str
    name: str
    kind: JobKind
    spec: str
    sealed: bytes | None
    timeout_ms: int | None
    pool: str
    labels: tuple[str, ...]
    runner_name: str
    isolation: str
    priority: int
    submitted_by: str
    key: str
    digest: str
    siblings: int = ALONE_IN_ITS_RUN


class Submitted(msgspec.Struct, frozen=True):
    """The run that was asked for; ``repeated`` if an earlier call with the same key made it."""

    run_id: str
    job_id: str
    repeated: bool = False


_RUNS = Insert(
    "runs",
    {
        "id": "text",
        "organization_id": "text",
        "pool_id": "text",
        "name": "text",
        "state": "text",
        "submitted_by": "text",
        "created_at": "bigint",
    },
)
_JOBS = Insert(
    "jobs",
    {
        "id": "text",
        "run_id": "text",
        "pool_id": "text",
        "demand_id": "text",
        "name": "text",
        "kind": "text",
        "state": "text",
        "fence": "bigint",
        "siblings": "bigint",
        "has_secrets": "smallint",
        "priority": "bigint",
        "urgency": "bigint",
        "position": "bigint",
        "pool_level": "text",
        "timeout_ms": "bigint",
        "created_at": "bigint",
    },
)
_SPECS = Insert("job_specs", {"job_id": "text", "spec": "text", "sealed": "bytea"})
_KEYS = Insert(
    "idempotency",
    {"scope": "text", "key": "text", "digest": "text", "subject": "text", "created_at": "bigint"},
)
_KNOWN = Sql("SELECT key, digest, subject FROM idempotency WHERE scope = :scope AND key [among keys]")
_JOB_OF_RUN = Sql("SELECT run_id, id FROM jobs WHERE run_id [among ids]")
_FORGET_KEYS = Sql("DELETE FROM idempotency WHERE created_at < :before")


def prepare(
    request: SubmitRequest, ids: Ids, sealer: Sealer, *, submitted_by: str = "", isolation: str = ""
) -> Submission | Refused:
    """Turn a request into what is stored. The secrets' values are sealed and in no digest; their names are."""
    labels = checked_labels(request.labels)
    if isinstance(labels, Refused):
        return labels
    fault = fault_in(request.spec)
    if fault:
        return Refused("value_refused", fault)
    if len(request.runner_name) > LONGEST_NAME:
        return Refused("value_refused", f"runner_name: a runner's name has at most {LONGEST_NAME} characters")
    secrets = request.spec.secrets
    for name, value in secrets.items():
        if value and (why := why_not_masked(value.encode())):
            return Refused("value_refused", f"secret {name} is {why.replace('_', ' ')} to be masked in logs")
    bare = msgspec.structs.replace(request.spec, secrets=dict.fromkeys(secrets, "")) if secrets else request.spec
    spec = msgspec.json.encode(bare)
    job_id = ids.new("job")
    digest = ""
    if request.key:
        whole = msgspec.structs.replace(request, spec=bare, labels=list(labels))
        digest = hashlib.sha256(msgspec.json.encode(whole, order="deterministic")).hexdigest()
    return Submission(
        run_id=ids.new("run"),
        job_id=job_id,
        name=request.spec.name,
        kind=request.kind,
        spec=spec.decode(),
        sealed=sealer.seal(msgspec.json.encode(secrets), _associated(job_id)) if secrets else None,
        timeout_ms=request.spec.timeout_ms,
        pool=request.pool,
        labels=labels,
        runner_name=request.runner_name,
        isolation=isolation,
        priority=request.priority,
        submitted_by=submitted_by,
        key=request.key,
        digest=digest,
    )


def opened(job_id: str, spec: str, sealed: bytes | None, sealer: Sealer) -> JobSpec:
    """Return a stored spec with its secrets; without ``sealed`` their values are empty."""
    bare = _SPEC.decode(spec)
    if sealed is None:
        return bare
    secrets = _SECRETS.decode(sealer.open(sealed, _associated(job_id)))
    return msgspec.structs.replace(bare, secrets=secrets)


def submit(connection: Connection, submission: Submission, now: int) -> Submitted | Refused:
    """Store one run."""
    submitted = submit_many(connection, (submission,), now)
    return submitted if isinstance(submitted, Refused) else submitted[0]


def submit_many(connection: Connection, submissions: Sequence[Submission], now: int) -> list[Submitted] | Refused:
    """Store many runs, all or none; repeated keys give the runs they made before."""
    resolved = pools.resolve(connection, {submission.pool for submission in submissions})
    for submission in submissions:
        pool = resolved[submission.pool]
        if isinstance(pool, Refused):
            return pool
    targets = {name: pool for name, pool in resolved.items() if not isinstance(pool, Refused)}
    earlier = _earlier(connection, submissions)
    if isinstance(earlier, Refused):
        return earlier
    results: list[Submitted] = []
    fresh: list[Submission] = []
    for submission in submissions:
        known = earlier.get(submission.key) if submission.key else None
        if known is None:
            known = Submitted(submission.run_id, submission.job_id)
            fresh.append(submission)
            if submission.key:
                earlier[submission.key] = msgspec.structs.replace(known, repeated=True)
        results.append(known)
    _insert(connection, fresh, targets, now)
    return results


def enlist(connection: Connection, run_id: str, submissions: Sequence[Submission], now: int) -> Refused | None:
    """Store jobs of a workflow in a run that exists, all or none."""
    resolved = pools.resolve(connection, {submission.pool for submission in submissions})
    for pool in resolved.values():
        if isinstance(pool, Refused):
            return pool
    jobs = [msgspec.structs.replace(each, run_id=run_id, siblings=OF_A_WORKFLOW) for each in submissions]
    _insert(connection, jobs, {name: pool for name, pool in resolved.items() if not isinstance(pool, Refused)}, now)
    return None


def submit_each(connection: Connection, submissions: Sequence[Submission], now: int) -> list[Submitted | Refused]:
    """Store what can be stored of many runs from different callers, each on its own merits."""
    resolved = pools.resolve(connection, {submission.pool for submission in submissions})
    taken: dict[str, str] = {}
    accepted: list[Submission] = []
    refused: dict[int, Refused] = {}
    known = _known_keys(connection, [submission.key for submission in submissions if submission.key])
    for index, submission in enumerate(submissions):
        pool = resolved[submission.pool]
        digest = known.get(submission.key) or taken.setdefault(submission.key, submission.digest)
        if isinstance(pool, Refused):
            refused[index] = pool
        elif submission.key and digest != submission.digest:
            refused[index] = _mismatch(submission.key)
        else:
            accepted.append(submission)
    stored = submit_many(connection, accepted, now) if accepted else []
    if isinstance(stored, Refused):
        return [stored] * len(submissions)
    answers = iter(stored)
    return [refused[index] if index in refused else next(answers) for index in range(len(submissions))]


def forget_keys(connection: Connection, before: int) -> int:
    """Delete idempotency keys that were used before a time; return how many."""
    return _FORGET_KEYS.run(connection, before=before)


def _earlier(connection: Connection, submissions: Sequence[Submission]) -> dict[str, Submitted] | Refused:
    digests: dict[str, str] = {}
    for submission in submissions:
        if submission.key and digests.setdefault(submission.key, submission.digest) != submission.digest:
            return _mismatch(submission.key)
    if not digests:
        return {}
    subjects: dict[str, str] = {}
    for key, digest, subject in _KNOWN.rows(connection, scope="submit", keys=list(digests)):
        if digests[key] != digest:
            return _mismatch(key)
        subjects[key] = subject
    if not subjects:
        return {}
    jobs = {row[0]: row[1] for row in _JOB_OF_RUN.rows(connection, ids=list(subjects.values()))}
    return {key: Submitted(run_id, jobs[run_id], repeated=True) for key, run_id in subjects.items()}


def _known_keys(connection: Connection, keys: Sequence[str]) -> dict[str, str]:
    return {row[0]: row[1] for row in _KNOWN.rows(connection, scope="submit", keys=keys)} if keys else {}


def _mismatch(key: str) -> Refused:
    return Refused("idempotency_mismatch", f"the key {key!r} was used for a different run")


def _insert(connection: Connection, fresh: Sequence[Submission], targets: Mapping[str, pools.Target], now: int) -> None:
    classes: dict[tuple[object, ...], DemandClass] = {}
    jobs: list[tuple[Value, ...]] = []
    runs: list[tuple[Value, ...]] = []
    for index, submission in enumerate(fresh):
        target = targets[submission.pool]
        demand = _class(classes, submission, target.pool_id)
        if submission.siblings != OF_A_WORKFLOW:
            runs.append(_run_row(submission, target.pool_id, now))
        jobs.append(
            (
                submission.job_id,
                submission.run_id,
                target.pool_id,
                demand.id,
                submission.name,
                submission.kind.value,
                JobState.QUEUED.value,
                0,
                submission.siblings,
                submission.sealed is not None,
                submission.priority,
                -submission.priority,
                now + index,
                target.level,
                submission.timeout_ms,
                now,
            )
        )
    demands.ensure(connection, classes.values(), now)
    _KEYS.run(connection, [("submit", each.key, each.digest, each.run_id, now) for each in fresh if each.key])
    _RUNS.run(connection, runs)
    _SPECS.run(connection, [(each.job_id, each.spec, each.sealed) for each in fresh])
    _JOBS.run(connection, jobs)
    for target in {targets[submission.pool].pool_id for submission in fresh}:
        hint(connection, f"queue:{target}")
    if fresh:
        hint(connection, "runs")


def _run_row(submission: Submission, pool_id: str, now: int) -> tuple[Value, ...]:
    state = RunState.QUEUED.value
    return (submission.run_id, DEFAULT_ORGANIZATION, pool_id, submission.name, state, submission.submitted_by, now)


def _class(classes: dict[tuple[object, ...], DemandClass], submission: Submission, pool_id: str) -> DemandClass:
    key = (pool_id, submission.kind, submission.labels, submission.runner_name, submission.isolation)
    known = classes.get(key)
    if known is None:
        known = classes[key] = demands.demand_class(
            pool_id=pool_id,
            kind=submission.kind,
            labels=submission.labels,
            runner_name=submission.runner_name,
            isolation=submission.isolation,
        )
    return known


def _associated(job_id: str) -> bytes:
    return b"job:" + job_id.encode()
