"""``ostler queue``: what waits, in the order in which it will be served, and why."""

import click

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.options import json_option
from ostler.effects import system_effects
from ostler.protocol.v1.run_messages import QueueQuery
from ostler.protocol.v1.table import GET_JOB, QUEUE


@click.group()
def queue() -> None:
    """See what waits and why."""


@queue.command("list")
@click.option("--pool", default="", help="Only this pool.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, help="How many.")
@click.option("--cursor", default="", help="Continue after the page before.")
@json_option
def list_(*, pool: str, limit: int, cursor: str, as_json: bool) -> None:
    """List waiting jobs, each with its reason."""
    query = QueueQuery(pool=pool, limit=limit, cursor=cursor)
    reply = with_client(lambda client: client.call(QUEUE, query=query))
    if as_json:
        output.print_json(reply)
        return
    now = system_effects().clock.now()
    rows = [
        (
            entry.job_id,
            output.shown(entry.name, 40),
            entry.pool_name,
            output.ago(entry.created_at, now),
            entry.reason.sentence,
        )
        for entry in reply.entries
    ]
    output.print_table(("JOB", "NAME", "POOL", "CREATED", "WHY"), rows, empty="nothing waits")
    if reply.next_cursor:
        output.say(f"{reply.depth} in all; more: --cursor {reply.next_cursor}")


@queue.command()
@click.argument("job_id")
@json_option
def explain(*, job_id: str, as_json: bool) -> None:
    """Say why a job waits and what would start it now."""
    job = with_client(lambda client: client.call(GET_JOB, job_id=job_id))
    if as_json:
        output.print_json(job.waiting)
        return
    if job.waiting is None:
        output.print_line(f"{job.id} does not wait: it is {job.state.value}")
        return
    output.print_line(job.waiting.sentence)
    if job.waiting.position is not None:
        output.print_line(f"position: {job.waiting.position}")
    for near in job.waiting.near:
        output.print_line(f"  {near.runner_name}: lacks {', '.join(near.lacks)}")
    if job.waiting.would_start:
        output.print_line(f"would start it now: {job.waiting.would_start}")
