"""``ostler secret``: what the workflows of a repository may know and nobody may read."""

import os
import sys

import click

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.options import json_option, repository_option
from ostler.effects import system_effects
from ostler.protocol.v1.repository_messages import SetValueRequest
from ostler.protocol.v1.repository_table import DELETE_SECRET, LIST_SECRETS, SET_SECRET


@click.group()
def secret() -> None:
    """Manage the secrets of a repository."""


@secret.command("set")
@click.argument("name")
@repository_option
@click.option("--env", "variable", default=None, metavar="NAME", help="Take the value from this variable.")
def set_(*, name: str, repository: str, variable: str | None) -> None:
    """Set a secret. Its value is read from standard input, or from a variable; a last line break is dropped."""
    if variable is not None:
        if variable not in os.environ:
            raise click.UsageError(f"--env: the environment has no {variable}")
        value = os.environ[variable]
    elif sys.stdin.isatty():
        value = click.prompt(f"value of {name}", hide_input=True, err=True)
    else:
        value = sys.stdin.read().removesuffix("\n")
    request = SetValueRequest(value)
    stored = with_client(lambda client: client.call(SET_SECRET, request=request, repository=repository, name=name))
    output.say(f"secret {stored.name} of {repository} set")


@secret.command("list")
@repository_option
@json_option
def list_(*, repository: str, as_json: bool) -> None:
    """List the names of the secrets."""
    reply = with_client(lambda client: client.call(LIST_SECRETS, repository=repository))
    if as_json:
        output.print_json(reply)
        return
    now = system_effects().clock.now()
    rows = [(item.name, output.ago(item.updated_at, now)) for item in reply.values]
    empty = f"no secrets; set one with `ostler secret set NAME --repository {repository}`"
    output.print_table(("SECRET", "SET"), rows, empty=empty)


@secret.command()
@click.argument("name")
@repository_option
def delete(*, name: str, repository: str) -> None:
    """Delete a secret."""
    with_client(lambda client: client.call(DELETE_SECRET, repository=repository, name=name))
    output.say(f"secret {name} of {repository} deleted")
