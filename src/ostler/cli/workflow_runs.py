"""``ostler run approve`` and ``ostler run rerun``: what can be done with runs of workflows beside all other runs."""

import click

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.following import follow_run
from ostler.cli.options import json_option
from ostler.client.caller import Client
from ostler.protocol.v1.run_messages import RunView
from ostler.protocol.v1.workflow_messages import RerunRequest, WorkflowRunView
from ostler.protocol.v1.workflow_table import APPROVE_RUN, RERUN_RUN


@click.command()
@click.argument("run_id")
@json_option
def approve(*, run_id: str, as_json: bool) -> None:
    """Let the run of a fork's pull request begin. It gets no secrets all the same."""
    approved = with_client(lambda client: client.call(APPROVE_RUN, run_id=run_id))
    if as_json:
        output.print_json(approved)
    else:
        output.say(f"run {run_id} of commit {approved.sha[:12]} is approved")


@click.command()
@click.argument("run_id")
@click.option("--failed", is_flag=True, help="Only what failed or was cancelled, and what needs it.")
@click.option("--from", "job", default="", metavar="JOB", help="Only this job and what needs it.")
@click.option("--debug", is_flag=True, help="With the debug output of steps.")
@click.option("--watch", is_flag=True, help="Stay until the run has ended, and exit as it did.")
@json_option
def rerun(*, run_id: str, failed: bool, job: str, debug: bool, watch: bool, as_json: bool) -> int:
    """Run a workflow's run again, as its next attempt: all of it without an option."""
    if failed and job:
        raise click.UsageError("--failed and --from exclude each other")
    request = RerunRequest(which="job" if job else "failed" if failed else "all", job=job, debug=debug)

    async def started(client: Client) -> tuple[RunView, int]:
        found = await client.call(RERUN_RUN, request=request, run_id=run_id)
        return found, await follow_run(client, found, as_json=as_json) if watch else 0

    found, status = with_client(started)
    if as_json and not watch:
        output.print_json(found)
    elif not watch:
        output.print_line(found.id)
    return status


def print_workflow_run(found: WorkflowRunView) -> None:
    """Print what a run is as a run of a workflow, and those of its nodes that no runner ever had."""
    attempt = f", attempt {found.attempt}" if found.attempt > 1 else ""
    output.print_line(f"  {output.shown(found.path)} of {found.repository}, run {found.number}{attempt}")
    output.print_line(
        f"  {found.event} at {output.shown(found.ref)}, commit {found.sha[:12]}, by {output.shown(found.actor)}"
    )
    if found.phase == "held":
        output.print_line(f"  waits for approval, because it is a fork's: ostler run approve {found.run_id}")
    elif found.phase == "pending":
        output.print_line("  waits for its concurrency group")
    if found.note:
        output.print_line(f"  {output.shown(found.note)}")
    for node in found.nodes:
        if node.kind == "job" and not node.job_id and node.conclusion:
            output.print_line(
                f"  {output.state(node.conclusion)}  {output.shown(node.name)}: {output.shown(node.note)}"
            )
