"""Staying with a run until it ends: its log to stdout as it is written, what it waits for to stderr."""

import asyncio
import sys
from datetime import UTC, datetime

import msgspec

from ostler.cli import output
from ostler.client.caller import Client
from ostler.client.errors import ProblemError
from ostler.client.streaming import events, passing
from ostler.client.transport import TransportError
from ostler.domain.job import JobState
from ostler.domain.run import RunState
from ostler.effects import system_random
from ostler.protocol.v1.run_messages import JobView, LogFollowQuery, LogLine, RunView
from ostler.protocol.v1.table import GET_JOB, GET_RUN, LOG_FOLLOW

_LOOK_SECONDS = 2.0
_SETTLE_SECONDS = 0.05
_FOLLOW_SECONDS = 0.25
_PATIENCE_SECONDS = 600.0
"""As long as a runner may be away from the server without losing its job: whoever watches it waits as long."""
ENDED = (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)


class LogEvent(msgspec.Struct, frozen=True):
    """A piece of a followed log. A last line that is not whole yet (``partial``) comes again when it has grown."""

    first_line: int
    lines: list[LogLine]
    total_lines: int = 0
    partial: bool = False


class LinePrinter:
    """Prints lines by number; of a line that grows it prints only what is new."""

    def __init__(self, *, since_line: int = 1, timestamps: bool = False) -> None:
        self._timestamps = timestamps
        self._next = since_line
        self._begun = ""

    def take(self, event: LogEvent) -> None:
        """Print what the event adds."""
        last = event.first_line + len(event.lines) - 1
        for number, (text, micros, _) in enumerate(event.lines, event.first_line):
            if number < self._next:
                continue
            whole = not (event.partial and number == last)
            shown = text
            if number == self._next and self._begun and text.startswith(self._begun):
                shown = text[len(self._begun) :]
            elif self._timestamps:
                shown = f"{_moment(micros)} {text}"
            self._begun = "" if whole else text
            self._next = number + 1 if whole else number
            self._write(shown + ("\n" if whole else ""))
        sys.stdout.flush()

    def close(self) -> None:
        """End a line that was never finished."""
        if self._begun:
            self._write("\n")
            sys.stdout.flush()

    def _write(self, text: str) -> None:
        sys.stdout.write(text)


def _moment(micros: int) -> str:
    return f"{datetime.fromtimestamp(micros / 1_000_000, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


async def follow_run(client: Client, run: RunView, *, as_json: bool) -> int:
    """Show the run's log until it ends and return its exit code."""
    if run.of_workflow:
        return await _follow_workflow(client, run, as_json=as_json)
    job = run.jobs[0]
    waiting = asyncio.create_task(_say_why(client, job.id))
    try:
        if as_json:
            await follow_events(client, job.id, LinePrinter(), quiet=True)
        else:
            await follow_events(client, job.id, LinePrinter())
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    ended = await settled(client, run.id)
    if as_json:
        output.print_json(ended)
    else:
        say_end(ended)
    return run_exit_code(ended)


async def _follow_workflow(client: Client, run: RunView, *, as_json: bool) -> int:
    """Show the logs of a workflow's jobs one after the other, in the order in which they are seen to begin."""
    shown: set[str] = set()
    said: set[str] = set()
    while True:
        begun = [job for job in run.jobs if job.id not in shown and job.attempts and job.started_at is not None]
        for job in begun:
            shown.add(job.id)
            output.say(f"── {output.shown(job.name)} on {job.runner_name}")
            await follow_events(client, job.id, LinePrinter(), quiet=as_json)
        if not begun and run.state in ENDED:
            break
        for job in run.jobs:
            if job.waiting is not None and job.waiting.code != "queued" and (job.id not in said):
                said.add(job.id)
                output.say(f"{output.shown(job.name)} is waiting: {job.waiting.sentence}")
        if not begun:
            await asyncio.sleep(_FOLLOW_SECONDS)
        run = await _present(client, run.id)
    if as_json:
        output.print_json(run)
    else:
        say_end(run)
    return run_exit_code(run)


async def follow_events(
    client: Client, job_id: str, printer: LinePrinter, *, attempt: int = 0, quiet: bool = False
) -> None:
    """Print the log of a job from its start until it is complete, whatever happens to the connection meanwhile."""
    decoder = msgspec.json.Decoder(LogEvent)
    outage = _Outage()
    following = events(
        client,
        LOG_FOLLOW,
        system_random(),
        query=LogFollowQuery(attempt=attempt),
        patience_seconds=_PATIENCE_SECONDS,
        on_loss=outage.begin,
        job_id=job_id,
    )
    async for event in following:
        outage.end()
        if event.event == "log" and not quiet:
            printer.take(decoder.decode(event.data))
    printer.close()


async def settled(client: Client, run_id: str) -> RunView:
    """Return the run once it has ended; its log may be complete a moment before its state is."""
    while True:
        run = await _present(client, run_id)
        if run.state in ENDED:
            return run
        await asyncio.sleep(_FOLLOW_SECONDS if run.of_workflow else _SETTLE_SECONDS)


async def _present(client: Client, run_id: str) -> RunView:
    """Return the run as it is now, or as it is when the server is back."""
    outage, lost = _Outage(), 0.0
    while True:
        try:
            run = await client.call(GET_RUN, run_id=run_id)
        except (TransportError, ProblemError) as error:
            lost += _LOOK_SECONDS
            if lost > _PATIENCE_SECONDS or not passing(error):
                raise
            outage.begin(error)
            await asyncio.sleep(_LOOK_SECONDS)
            continue
        outage.end()
        return run


class _Outage:
    """Tells once that the server is away, and once that it is back: the job goes on without it, and so do we."""

    def __init__(self) -> None:
        self._since = False

    def begin(self, error: Exception) -> None:
        if not self._since:
            self._since = True
            output.say(f"the server does not answer ({error}); the job goes on, waiting for the server …")

    def end(self) -> None:
        if self._since:
            self._since = False
            output.say("the server is back")


def say_end(run: RunView) -> None:
    """Tell how the run ended."""
    took = output.span(run.finished_at - run.started_at) if run.finished_at and run.started_at else "no time"
    said = f"run {run.id} {run.state.value} after {took}"
    job = next((each for each in run.jobs if each.failure is not None), None)
    if job is not None and job.failure is not None:
        said += f": job {output.shown(job.name)}" if run.of_workflow else ""
        detail = f" ({job.failure.detail})" if job.failure.detail else ""
        said += f": {job.failure.cause.value}{detail}"
        if job.failure.evidence:
            said += f", {output.shown(job.failure.evidence)}"
    output.say(said)


def run_exit_code(run: RunView) -> int:
    """Return the exit code of a command that stands for the run: its failing job's own, else 1."""
    if run.state is RunState.SUCCEEDED:
        return 0
    codes = [job.exit_code for job in run.jobs if job.state is JobState.FAILED and job.exit_code]
    return codes[0] if codes and 0 < codes[0] < 256 else 1


async def _say_why(client: Client, job_id: str) -> None:
    said = ""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            job: JobView = await client.call(GET_JOB, job_id=job_id)
        except (TransportError, ProblemError):
            continue
        if job.waiting is None:
            return
        if job.waiting.sentence != said:
            said = job.waiting.sentence
            output.say(f"waiting: {said}")
