"""The verbs of ``ostler run``: list, view, watch and cancel the runs of a server, and read their logs."""

import sys

import click

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.errors import CommandFailed
from ostler.cli.following import ENDED, LinePrinter, LogEvent, follow_events, follow_run, run_exit_code, settled
from ostler.cli.job import print_job
from ostler.cli.options import json_option
from ostler.cli.workflow_runs import print_workflow_run
from ostler.client.caller import Client
from ostler.effects import system_effects
from ostler.logs.visible import for_page
from ostler.protocol.v1.run_messages import CancelRequest, JobView, LogLinesQuery, LogRawQuery, RunsQuery, RunView
from ostler.protocol.v1.table import CANCEL_RUN, GET_RUN, LIST_RUNS, LOG_LINES, LOG_RAW
from ostler.protocol.v1.workflow_messages import WorkflowRunView
from ostler.protocol.v1.workflow_table import GET_WORKFLOW_RUN

_STATES = ("queued", "running", "cancelling", "succeeded", "failed", "cancelled")
_PAGE = 5000
_PENDING = 8


@click.command("list")
@click.option("--state", type=click.Choice(_STATES), help="Only runs in this state.")
@click.option("--pool", default="", help="Only runs of this pool.")
@click.option("--search", default="", help="Only runs whose name holds this text.")
@click.option("--limit", type=click.IntRange(1, 200), default=30, help="How many.")
@click.option("--cursor", default="", help="Continue after the page before.")
@json_option
def list_(*, state: str | None, pool: str, search: str, limit: int, cursor: str, as_json: bool) -> None:
    """List runs, newest first."""
    query = RunsQuery(state=state or "", pool=pool, search=search, limit=limit, cursor=cursor)  # pyright: ignore[reportArgumentType]
    reply = with_client(lambda client: client.call(LIST_RUNS, query=query))
    if as_json:
        output.print_json(reply)
        return
    now = system_effects().clock.now()
    rows = [
        (
            item.id,
            output.state(item.state.value, marked=True),
            output.shown(item.name, 50),
            item.pool_name,
            item.runner_name or "-",
            output.ago(item.created_at, now),
        )
        for item in reply.runs
    ]
    filtered = state or pool or search or cursor
    empty = "no such runs" if filtered else "no runs; submit one with `ostler job submit -- echo hello`"
    output.print_table(("RUN", "STATE", "NAME", "POOL", "RUNNER", "CREATED"), rows, empty=empty)
    if reply.next_cursor:
        output.say(f"more: --cursor {reply.next_cursor}")


@click.command()
@click.argument("run_id")
@click.option("--exit-code", "as_exit_code", is_flag=True, help="Exit as the run did; with 8 while it has not ended.")
@json_option
def view(*, run_id: str, as_exit_code: bool, as_json: bool) -> int:
    """Show a run with its jobs and steps."""

    async def read(client: Client) -> tuple[RunView, WorkflowRunView | None]:
        found = await client.call(GET_RUN, run_id=run_id)
        return found, await client.call(GET_WORKFLOW_RUN, run_id=run_id) if found.of_workflow else None

    found, of_workflow = with_client(read)
    if as_json:
        output.print_json(found)
    else:
        now = system_effects().clock.now()
        output.print_line(f"{found.id}  {output.state(found.state.value, marked=True)}  {output.shown(found.name)}")
        output.print_line(f"  created {output.ago(found.created_at, now)} by {found.submitted_by or 'unknown'}")
        if of_workflow is not None:
            print_workflow_run(of_workflow)
        for job in found.jobs:
            print_job(job, now)
    if not as_exit_code:
        return 0
    return run_exit_code(found) if found.state in ENDED else _PENDING


@click.command()
@click.argument("run_id")
@json_option
def watch(*, run_id: str, as_json: bool) -> int:
    """Stay with a run until it ends; exit as its job did."""

    async def watched(client: Client) -> int:
        found = await client.call(GET_RUN, run_id=run_id)
        return await follow_run(client, found, as_json=as_json)

    return with_client(watched)


@click.command()
@click.argument("run_id")
@click.option("--reason", default="", help="Why; kept with the run.")
@click.option("--wait", is_flag=True, help="Return only when the run has ended.")
@json_option
def cancel(*, run_id: str, reason: str, wait: bool, as_json: bool) -> int:
    """Cancel a run. A second cancel changes nothing."""

    async def cancelled(client: Client) -> RunView:
        found = await client.call(CANCEL_RUN, request=CancelRequest(reason=reason), run_id=run_id)
        return await settled(client, run_id) if wait else found

    found = with_client(cancelled)
    if as_json:
        output.print_json(found)
    else:
        output.print_line(f"{found.id}  {output.state(found.state.value, marked=True)}")
    return 0


@click.command()
@click.argument("run_id")
@click.option("--follow", is_flag=True, help="Stay until the log is complete.")
@click.option("--since-line", type=click.IntRange(min=1), default=1, help="Begin at this line.")
@click.option("--timestamps", is_flag=True, help="Begin each line with its time in UTC.")
@click.option("--job", "job_id", default="", help="Which job, if the run has several.")
@click.option("--attempt", type=click.IntRange(min=0), default=0, help="Which attempt; the newest without it.")
def logs(*, run_id: str, follow: bool, since_line: int, timestamps: bool, job_id: str, attempt: int) -> int:
    """Print the log of a run."""

    async def printed(client: Client) -> int:
        job = _chosen(await client.call(GET_RUN, run_id=run_id), job_id)
        if attempt and attempt not in [each.fence for each in job.attempts]:
            raise CommandFailed(
                f"job {job.id} has no attempt {attempt}",
                fix=f"see `ostler job view {job.id}`",
                code="attempt_unknown",
            )
        if follow:
            printer = LinePrinter(since_line=since_line, timestamps=timestamps)
            await follow_events(client, job.id, printer, attempt=attempt)
            return run_exit_code(await settled(client, run_id))
        if since_line > 1:
            await _print_range(
                client, job, LinePrinter(since_line=since_line, timestamps=timestamps), since_line, attempt
            )
        else:
            await _print_raw(client, job, attempt, timestamps=timestamps)
        return 0

    return with_client(printed)


def _chosen(found: RunView, job_id: str) -> JobView:
    for job in found.jobs:
        if job_id in (job.id, job.name) or (not job_id and len(found.jobs) == 1):
            return job
    names = ", ".join(output.shown(job.name) for job in found.jobs)
    missing = f"no job {job_id!r}, but" if job_id else ""
    raise CommandFailed(
        f"run {found.id} has {missing} {output.count(len(found.jobs), 'job')}: {names}".replace("  ", " "),
        fix="name one with --job",
        exit_code=2,
        code="job_unclear",
    )


async def _print_raw(client: Client, job: JobView, attempt: int, *, timestamps: bool) -> None:
    query = LogRawQuery(timestamps=1 if timestamps else 0, attempt=attempt)
    rest = b""
    async for chunk in client.stream(LOG_RAW, query=query, job_id=job.id):
        if not sys.stdout.isatty():
            sys.stdout.buffer.write(chunk)
            continue
        whole, newline, rest = (rest + chunk).rpartition(b"\n")
        if newline:
            sys.stdout.write("".join(for_page(line) + "\n" for line in whole.split(b"\n")))
    if rest:
        sys.stdout.write(for_page(rest) + "\n")
    sys.stdout.flush()


async def _print_range(client: Client, job: JobView, printer: LinePrinter, since_line: int, attempt: int) -> None:
    line = since_line
    while True:
        query = LogLinesQuery(from_line=line, lines=_PAGE, attempt=attempt)
        reply = await client.call(LOG_LINES, query=query, job_id=job.id)
        printer.take(LogEvent(reply.first_line, reply.lines))
        line = reply.first_line + len(reply.lines)
        if not reply.lines or line > reply.total_lines:
            return
