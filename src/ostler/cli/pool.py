"""``ostler pool``: where jobs may run."""

from typing import TypedDict, Unpack, cast

import click
import msgspec

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.options import json_option
from ostler.domain.job import JobKind
from ostler.protocol.v1.fleet_messages import CreatePoolRequest, PoolView, UpdatePoolRequest
from ostler.protocol.v1.table import CREATE_POOL, DELETE_POOL, GET_POOL, LIST_POOLS, UPDATE_POOL

_KINDS = click.Choice([kind.value for kind in JobKind])


class UpdateOptions(TypedDict):
    """What ``update`` is given."""

    name: str
    description: str | None
    labels: tuple[str, ...]
    replicas: int | None
    kinds: tuple[str, ...]
    multiple: bool | None
    disabled: bool | None
    default: bool | None
    as_json: bool


@click.group()
def pool() -> None:
    """Manage pools."""


@pool.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List pools, the hosted one first."""
    reply = with_client(lambda client: client.call(LIST_POOLS))
    if as_json:
        output.print_json(reply)
        return
    rows = [
        (
            item.name + (" (default)" if item.default else ""),
            output.state(item.status.value),
            f"{item.busy_runners}/{item.live_runners}",
            str(item.waiting_jobs),
            ", ".join(item.labels) or "-",
            output.shown(item.description, 40),
        )
        for item in reply.pools
    ]
    output.print_table(("POOL", "STATUS", "BUSY/LIVE", "WAITING", "LABELS", "DESCRIPTION"), rows, empty="no pools")


@pool.command()
@click.argument("name")
@json_option
def view(*, name: str, as_json: bool) -> None:
    """Show a pool."""
    _print(with_client(lambda client: client.call(GET_POOL, pool=name)), as_json=as_json)


@pool.command()
@click.argument("name")
@click.option("--description", default="", help="What it is for.")
@click.option("--label", "labels", multiple=True, help="A label. May be repeated.")
@click.option("--replicas", type=click.IntRange(min=0), default=1, help="How many runners an installation starts.")
@click.option("--kind", "kinds", multiple=True, type=_KINDS, help="Admit only these kinds of job. May be repeated.")
@click.option("--multiple/--single", default=False, help="Admit many runner processes, or just one.")
@json_option
def create(
    *,
    name: str,
    description: str,
    labels: tuple[str, ...],
    replicas: int,
    kinds: tuple[str, ...],
    multiple: bool,
    as_json: bool,
) -> None:
    """Create a pool."""
    request = CreatePoolRequest(
        name=name,
        description=description,
        labels=list(labels),
        replicas=replicas,
        job_kinds=[JobKind(kind) for kind in kinds],
        allow_multiple_instances=multiple,
    )
    created = with_client(lambda client: client.call(CREATE_POOL, request=request))
    _print(created, as_json=as_json)
    if not as_json:
        output.say(f"add a runner: ostler token create --pool {created.name}")


@pool.command()
@click.argument("name")
@click.option("--description", default=None, help="What it is for.")
@click.option("--label", "labels", multiple=True, help="Replace the labels. May be repeated.")
@click.option("--replicas", type=click.IntRange(min=0), default=None, help="How many runners an installation starts.")
@click.option("--kind", "kinds", multiple=True, type=_KINDS, help="Replace the kinds of job. May be repeated.")
@click.option("--multiple/--single", default=None, help="Admit many runner processes, or just one.")
@click.option("--disable/--enable", "disabled", default=None, help="Stop or resume taking jobs.")
@click.option("--default/--no-default", default=None, help="Make it the organization's default, or no longer.")
@json_option
def update(**given: Unpack[UpdateOptions]) -> None:
    """Change a pool; what is not named stays."""
    request = UpdatePoolRequest(
        description=given["description"],
        labels=list(given["labels"]) or None,
        replicas=given["replicas"],
        job_kinds=[JobKind(kind) for kind in given["kinds"]] or None,
        allow_multiple_instances=given["multiple"],
        disabled=given["disabled"],
        default=given["default"],
    )
    if request == UpdatePoolRequest():
        raise click.UsageError("name what to change")
    changed = with_client(lambda client: client.call(UPDATE_POOL, request=request, pool=given["name"]))
    _print(changed, as_json=given["as_json"])


@pool.command()
@click.argument("name")
def delete(*, name: str) -> None:
    """Delete a pool that has no waiting or running jobs."""
    with_client(lambda client: client.call(DELETE_POOL, pool=name))
    output.say(f"pool {name} deleted")


def _print(item: PoolView, *, as_json: bool) -> None:
    if as_json:
        output.print_json(item)
        return
    output.print_line(f"{item.name}  {output.state(item.status.value)}  {item.id}")
    for name, value in msgspec.structs.asdict(item).items():
        if name not in ("id", "name", "status", "created_at") and value not in ("", [], False):
            output.print_line(f"  {name.replace('_', ' ')}: {output.shown(_text(value))}")


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(part) for part in cast("list[object]", value))
    return "yes" if value is True else str(value)
