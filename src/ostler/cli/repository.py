"""``ostler repository``: connect the repositories whose workflows this server runs."""

import os
from typing import TypedDict, Unpack

import click
import msgspec

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.options import json_option
from ostler.cli.post_receive import POST_RECEIVE
from ostler.client.caller import Client
from ostler.client.errors import ProblemError
from ostler.domain.repository import FORGES
from ostler.effects import system_effects
from ostler.protocol.v1.program import Raw
from ostler.protocol.v1.repository_messages import (
    CreateRepositoryRequest,
    RepositoryView,
    UpdateRepositoryRequest,
)
from ostler.protocol.v1.repository_table import (
    CREATE_REPOSITORY,
    DELETE_REPOSITORY,
    GET_REPOSITORY,
    LIST_REPOSITORIES,
    REPOSITORY_HOOK,
    UPDATE_REPOSITORY,
)
from ostler.protocol.v1.workflow_messages import RepositoryDispatchRequest
from ostler.protocol.v1.workflow_table import DISPATCH_REPOSITORY, LIST_TRIGGERS, SYNC_REPOSITORY


class Settings(TypedDict):
    """What ``add`` and ``set`` are given."""

    name: str
    default_branch: str | None
    workflows_path: str | None
    forge: str | None
    forge_url: str | None
    pool: str | None
    username: str | None
    password_env: str | None
    forge_token_env: str | None
    webhook_secret_env: str | None
    as_json: bool


class AddSettings(Settings):
    """What ``add`` is given."""

    clone_url: str


class SetSettings(Settings):
    """What ``set`` is given."""

    clone_url: str | None
    disabled: bool | None


_OPTIONS = (
    click.option("--branch", "default_branch", default=None, help="The default branch; that of the remote without it."),
    click.option("--workflows", "workflows_path", default=None, help="The folder of the workflow files."),
    click.option("--forge", type=click.Choice(FORGES), default=None, help="What serves it; `git` for none of them."),
    click.option("--forge-url", default=None, help="The address of the forge's API, if it is not the usual one."),
    click.option("--pool", default=None, help="The pool that its jobs go to."),
    click.option("--username", default=None, help="The name to fetch with."),
    click.option("--password-env", metavar="NAME", default=None, help="The variable that holds the password or token."),
    click.option("--forge-token-env", metavar="NAME", default=None, help="The variable with the token for statuses."),
    click.option("--webhook-secret-env", metavar="NAME", default=None, help="The variable with the webhook's secret."),
)
_SECRETS = {"password": "password_env", "forge_token": "forge_token_env", "webhook_secret": "webhook_secret_env"}


@click.group()
def repository() -> None:
    """Connect the repositories whose workflows this server runs."""


@repository.command()
@click.argument("name")
@click.argument("clone_url")
@json_option
def add(**given: Unpack[AddSettings]) -> None:
    """Connect a repository under a name. Secrets are taken from the environment, never from the command line."""
    request = msgspec.convert({"name": given["name"], **_values(given)}, CreateRepositoryRequest)

    async def connected(client: Client) -> RepositoryView:
        created = await client.call(CREATE_REPOSITORY, request=request)
        try:
            await client.call(SYNC_REPOSITORY, repository=created.id)
        except ProblemError as error:
            output.say(f"warning: {error.problem.title}: {error.problem.detail}")
        return await client.call(GET_REPOSITORY, repository=created.id)

    created = with_client(connected)
    _print(created, as_json=given["as_json"])
    if not given["as_json"]:
        output.say(f"have it tell of pushes: ostler repository hook {created.name}")


@repository.command("set")
@click.argument("name")
@click.option("--clone-url", default=None, help="Where it is fetched from.")
@click.option("--disable/--enable", "disabled", default=None, help="Stop or resume running its workflows.")
@json_option
def set_(**given: Unpack[SetSettings]) -> None:
    """Change a repository; what is not named stays, an empty value takes away."""
    request = msgspec.convert(_values(given), UpdateRepositoryRequest)
    if request == UpdateRepositoryRequest():
        raise click.UsageError("name what to change")
    changed = with_client(lambda client: client.call(UPDATE_REPOSITORY, request=request, repository=given["name"]))
    _print(changed, as_json=given["as_json"])


for _option in reversed(_OPTIONS):
    _option(add)
    _option(set_)


@repository.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List repositories."""
    reply = with_client(lambda client: client.call(LIST_REPOSITORIES))
    if as_json:
        output.print_json(reply)
        return
    now = system_effects().clock.now()
    rows = [
        (
            item.name,
            output.state(_state(item)),
            item.default_branch or "-",
            output.shown(item.clone_url, 60),
            output.ago(item.synced_at, now),
        )
        for item in reply.repositories
    ]
    empty = "no repositories; connect one with `ostler repository add NAME CLONE_URL`"
    output.print_table(("REPOSITORY", "STATE", "BRANCH", "CLONE URL", "READ"), rows, empty=empty)


@repository.command()
@click.argument("name")
@json_option
def view(*, name: str, as_json: bool) -> None:
    """Show a repository."""
    _print(with_client(lambda client: client.call(GET_REPOSITORY, repository=name)), as_json=as_json)


@repository.command()
@click.argument("name")
def remove(*, name: str) -> None:
    """Disconnect a repository none of whose runs is open."""
    with_client(lambda client: client.call(DELETE_REPOSITORY, repository=name))
    output.say(f"repository {name} disconnected")


@repository.command()
@click.argument("name")
@json_option
def sync(*, name: str, as_json: bool) -> None:
    """Read the workflows of the default branch again."""
    reply = with_client(lambda client: client.call(SYNC_REPOSITORY, repository=name))
    if as_json:
        output.print_json(reply)
        return
    present = [item for item in reply.workflows if item.present]
    output.say(f"repository {name} has {output.count(len(present), 'workflow')}")
    for item in present:
        output.print_line(f"{item.path}  {output.shown(item.fault)}".rstrip())


@repository.command()
@click.argument("name")
@click.option("--script", is_flag=True, help="Print the post-receive hook of a plain git server instead.")
@json_option
def hook(*, name: str, script: bool, as_json: bool) -> None:
    """Show what a forge is to be told, or the hook for a server without one. Either holds the secret."""
    reply = with_client(lambda client: client.call(REPOSITORY_HOOK, repository=name))
    if as_json:
        output.print_json(reply)
    elif script or reply.forge == "git":
        output.print_line(POST_RECEIVE.replace("@URL@", reply.url).replace("@SECRET@", reply.secret).rstrip())
        output.say("put it into hooks/post-receive of the bare repository and make it executable")
    else:
        output.print_line(f"address  {reply.url}")
        output.print_line(f"secret   {reply.secret}")
        output.say("choose JSON as the content type, and pushes, pull requests, tags and releases as the events")


@repository.command()
@click.argument("name")
@json_option
def events(*, name: str, as_json: bool) -> None:
    """List what happened last to a repository, and what became of it."""
    reply = with_client(lambda client: client.call(LIST_TRIGGERS, repository=name))
    if as_json:
        output.print_json(reply)
        return
    now = system_effects().clock.now()
    rows = [
        (output.ago(item.created_at, now), item.event, item.source, item.actor or "-", output.shown(item.outcome, 100))
        for item in reply.triggers
    ]
    output.print_table(("WHEN", "EVENT", "TOLD BY", "ACTOR", "OUTCOME"), rows, empty="nothing happened yet")


@repository.command()
@click.argument("name")
@click.argument("event_type")
@click.option("--payload", default="{}", help="The client payload: a JSON object.")
@json_option
def dispatch(*, name: str, event_type: str, payload: str, as_json: bool) -> None:
    """Tell a repository of an event of your own (`on: repository_dispatch`)."""
    try:
        content = msgspec.json.decode(payload.encode(), type=dict[str, Raw])
    except msgspec.DecodeError as error:
        raise click.UsageError(f"--payload: {error}") from error
    request = RepositoryDispatchRequest(event_type, content)
    reply = with_client(lambda client: client.call(DISPATCH_REPOSITORY, request=request, repository=name))
    if as_json:
        output.print_json(reply)
        return
    for run_id in reply.run_ids:
        output.print_line(run_id)
    output.say(reply.outcome)


def _values(given: Settings) -> dict[str, object]:
    named = {"name", "as_json", *_SECRETS.values()}
    values = {key: value for key, value in given.items() if key not in named and value is not None}
    for field, option in _SECRETS.items():
        variable = given.get(option)
        if isinstance(variable, str):
            values[field] = _from_environment(variable, option)
    return values


def _from_environment(variable: str, option: str) -> str:
    if variable and variable not in os.environ:
        raise click.UsageError(f"--{option.replace('_', '-')}: the environment has no {variable}")
    return os.environ[variable] if variable else ""


def _state(item: RepositoryView) -> str:
    if item.disabled:
        return "disabled"
    return "error" if item.fault else "connected"


def _print(item: RepositoryView, *, as_json: bool) -> None:
    if as_json:
        output.print_json(item)
        return
    output.print_line(f"{item.name}  {output.state(_state(item))}  {item.id}")
    for name, value in msgspec.structs.asdict(item).items():
        if name not in ("id", "name", "created_at", "synced_at", "disabled") and value not in ("", False):
            output.print_line(f"  {name.replace('_', ' ')}: {'yes' if value is True else output.shown(str(value))}")
