"""``ostler workflow``: list the workflows of a repository and run them."""

import click

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.errors import CommandFailed
from ostler.cli.following import follow_run
from ostler.cli.options import json_option, repository_option
from ostler.client.caller import Client
from ostler.protocol.v1.program import Raw
from ostler.protocol.v1.run_messages import RunView
from ostler.protocol.v1.table import GET_RUN
from ostler.protocol.v1.workflow_messages import DispatchRequest, UpdateWorkflowRequest, WorkflowView
from ostler.protocol.v1.workflow_table import DISPATCH_WORKFLOW, GET_WORKFLOW, LIST_WORKFLOWS, UPDATE_WORKFLOW


@click.group()
def workflow() -> None:
    """List the workflows of a repository and run them."""


@workflow.command("list")
@repository_option
@click.option("--all", "every", is_flag=True, help="Also those that the default branch has no more.")
@json_option
def list_(*, repository: str, every: bool, as_json: bool) -> None:
    """List workflows."""
    reply = with_client(lambda client: client.call(LIST_WORKFLOWS, repository=repository))
    if as_json:
        output.print_json(reply)
        return
    rows = [
        (item.path.rpartition("/")[2], output.state(_state(item)), output.shown(item.name, 40), ", ".join(item.events))
        for item in reply.workflows
        if every or item.present
    ]
    empty = f"no workflows; read the repository again with `ostler repository sync {repository}`"
    output.print_table(("WORKFLOW", "STATE", "NAME", "ON"), rows, empty=empty)


@workflow.command()
@click.argument("name")
@repository_option
@json_option
def view(*, name: str, repository: str, as_json: bool) -> None:
    """Show a workflow, its inputs and when it runs by itself."""
    _print(with_client(lambda client: client.call(GET_WORKFLOW, repository=repository, workflow=name)), as_json=as_json)


@workflow.command()
@click.argument("name")
@repository_option
@click.option("--ref", default="", help="The branch or tag; the default branch without it.")
@click.option("--input", "inputs", multiple=True, metavar="NAME=VALUE", help="An input. May be repeated.")
@click.option("--watch", is_flag=True, help="Stay until the run has ended, and exit as it did.")
@json_option
def run(*, name: str, repository: str, ref: str, inputs: tuple[str, ...], watch: bool, as_json: bool) -> int:
    """Run a workflow that has `on: workflow_dispatch`."""
    request = DispatchRequest(ref=ref, inputs=_inputs(inputs))

    async def dispatched(client: Client) -> tuple[RunView, int]:
        reply = await client.call(DISPATCH_WORKFLOW, request=request, repository=repository, workflow=name)
        if not reply.run_ids:
            raise CommandFailed(reply.outcome or "no run was started", code="workflow_refused")
        started = await client.call(GET_RUN, run_id=reply.run_ids[0])
        if not watch:
            return started, 0
        output.say(f"run {started.id} of {name}")
        return started, await follow_run(client, started, as_json=as_json)

    started, status = with_client(dispatched)
    if not watch and as_json:
        output.print_json(started)
    elif not watch:
        output.print_line(started.id)
        output.say(f"watch it: ostler run watch {started.id}")
    return status


@workflow.command()
@click.argument("name")
@repository_option
def disable(*, name: str, repository: str) -> None:
    """Stop a workflow from running."""
    _switch(name, repository, disabled=True)


@workflow.command()
@click.argument("name")
@repository_option
def enable(*, name: str, repository: str) -> None:
    """Let a workflow run again."""
    _switch(name, repository, disabled=False)


def _switch(name: str, repository: str, *, disabled: bool) -> None:
    request = UpdateWorkflowRequest(disabled)
    changed = with_client(
        lambda client: client.call(UPDATE_WORKFLOW, request=request, repository=repository, workflow=name)
    )
    output.say(f"workflow {changed.name} of {repository} is {'disabled' if disabled else 'enabled'}")


def _inputs(texts: tuple[str, ...]) -> dict[str, Raw]:
    values: dict[str, Raw] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--input {text!r}: write NAME=VALUE")
        values[name] = value
    return values


def _state(item: WorkflowView) -> str:
    if item.fault:
        return "error"
    if not item.present:
        return "absent"
    return "disabled" if item.disabled else "enabled"


def _print(item: WorkflowView, *, as_json: bool) -> None:
    if as_json:
        output.print_json(item)
        return
    output.print_line(f"{output.shown(item.name)}  {output.state(_state(item))}  {item.path}")
    output.print_line(f"  on: {', '.join(item.events) or '-'}")
    if item.fault:
        output.print_line(f"  fault: {output.shown(item.fault)}")
    for each in item.schedules:
        output.print_line(f"  schedule: {each.cron} ({each.timezone})")
    for each in item.inputs:
        said = [
            each.type,
            *(["required"] if each.required else []),
            *(["one of " + ", ".join(each.options)] * bool(each.options)),
        ]
        output.print_line(f"  input {each.name}: {', '.join(said)}  {output.shown(each.description)}".rstrip())
