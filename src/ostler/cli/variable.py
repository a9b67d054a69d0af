"""``ostler variable``: what the workflows of a repository find in `vars`."""

import click

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.options import json_option, repository_option
from ostler.protocol.v1.repository_messages import SetValueRequest
from ostler.protocol.v1.repository_table import DELETE_VARIABLE, LIST_VARIABLES, SET_VARIABLE


@click.group()
def variable() -> None:
    """Manage the variables of a repository."""


@variable.command("set")
@click.argument("name")
@click.argument("value")
@repository_option
def set_(*, name: str, value: str, repository: str) -> None:
    """Set a variable."""
    request = SetValueRequest(value)
    stored = with_client(lambda client: client.call(SET_VARIABLE, request=request, repository=repository, name=name))
    output.say(f"variable {stored.name} of {repository} set")


@variable.command("list")
@repository_option
@json_option
def list_(*, repository: str, as_json: bool) -> None:
    """List the variables."""
    reply = with_client(lambda client: client.call(LIST_VARIABLES, repository=repository))
    if as_json:
        output.print_json(reply)
        return
    rows = [(item.name, output.shown(item.value, 80)) for item in reply.values]
    empty = f"no variables; set one with `ostler variable set NAME VALUE --repository {repository}`"
    output.print_table(("VARIABLE", "VALUE"), rows, empty=empty)


@variable.command()
@click.argument("name")
@repository_option
def delete(*, name: str, repository: str) -> None:
    """Delete a variable."""
    with_client(lambda client: client.call(DELETE_VARIABLE, repository=repository, name=name))
    output.say(f"variable {name} of {repository} deleted")
