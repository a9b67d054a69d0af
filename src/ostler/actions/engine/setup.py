"""The first step of every job, and the last: what is prepared before the steps of the file, and what they leave."""

import os
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from ostler.actions.engine.calls import Call, Calls, docker_unavailable
from ostler.actions.engine.conversation import Conversation
from ostler.actions.engine.evaluation import BadTemplate, text, variables
from ostler.actions.engine.scope import JOB_SECRET_TOKEN, JobState, Place, View
from ostler.domain.machine import Refused
from ostler.expr.evaluation import Scope
from ostler.protocol.v1.program import JobProgram, Step


class Prepared(NamedTuple):
    """What ``set_up`` found: the calls of the steps by their identity."""

    calls: Mapping[int, Call]


def set_up(job: JobState, place: Place, calls: Calls, talk: Conversation) -> Prepared | Refused:
    """Evaluate the job's variables and load its actions; say so in the log."""
    machine, program = job.machine, job.program
    talk.say(f"Runner: {machine.host.name} ({machine.host.os}, {machine.host.arch})")
    talk.say(f"Job: {program.job_id}")
    for secret in (job.services.token, job.secrets.get(JOB_SECRET_TOKEN, "")):
        if secret:
            machine.mask(secret)
    _write_event(job)
    if program.container:
        return _container_refused("container")
    if program.services:
        return _container_refused("services")
    try:
        for layer in program.env:
            view = View(job, place, job.environment.values, {})
            job.environment.values.update(variables("env", layer, view.scope(hashes=False)))
    except BadTemplate as reason:
        return Refused(reason.code, str(reason))
    found: dict[int, Call] = {}
    for step in all_steps(program):
        call = calls.prepare(step)
        if isinstance(call, Refused):
            return call
        if call is not None:
            found[id(step)] = call
    return Prepared(found)


def all_steps(program: JobProgram) -> list[Step]:
    """Return the steps of the file, those of ``parallel`` among them."""
    return [inner for step in program.steps for inner in (step.parallel or [step])]


def job_outputs(job: JobState, place: Place, talk: Conversation) -> tuple[dict[str, str], str]:
    """Return the outputs of the job and the address of its environment. Secrets go nowhere."""
    scope = View(job, place, job.environment.values, {}).scope()
    found: dict[str, str] = {}
    for name, written in job.program.outputs.items():
        value = _evaluated(f"outputs.{name}", written, scope, job, talk)
        if not value:
            talk.debug(f"Skip output '{name}' since it's empty")
        elif job.machine.masked(value) != value:
            talk.warning(f"Skip output '{name}' since it may contain secret.")
        else:
            found[name] = value
    url = _evaluated("environment.url", job.program.environment_url, scope, job, talk)
    if job.machine.masked(url) != url:
        talk.warning("Skip the environment's url since it may contain secret.")
        url = ""
    return found, url


def _evaluated(key: str, written: str, scope: Scope, job: JobState, talk: Conversation) -> str:
    try:
        # A lone surrogate, which JSON can write, would spoil the message that carries the result.
        return text(key, written, scope).encode("utf-8", "replace").decode()
    except BadTemplate as reason:
        talk.error(str(reason))
        job.failed = True
        return ""


def _container_refused(key: str) -> Refused:
    refused = docker_unavailable(f"{key}:")
    return Refused(refused.code, refused.reason.replace("an action that is JavaScript or composite", f"remove `{key}`"))


def _write_event(job: JobState) -> None:
    """Store the payload of the event, which actions read from its file."""
    path = f"{job.machine.layout.files}/event.json"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(job.program.github.get("event") or {}))
