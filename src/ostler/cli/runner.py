"""``ostler runner``: the machines that do the work, and decisions about them."""

from typing import Literal

import click

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.options import DURATION, json_option
from ostler.effects import system_effects
from ostler.protocol.v1.fleet_messages import AdmissionRequest, RunnersQuery, RunnerView
from ostler.protocol.v1.table import ADMIT_RUNNER, GET_RUNNER, LIST_RUNNERS

Decision = Literal["pause", "resume", "drain", "disable", "enable", "quarantine", "revoke"]


@click.group()
def runner() -> None:
    """List, view, pause and drain runners."""


@runner.command("list")
@click.option("--pool", default="", help="Only this pool.")
@click.option("--status", type=click.Choice(("offline", "idle", "busy", "error")), help="Only this status.")
@json_option
def list_(*, pool: str, status: str | None, as_json: bool) -> None:
    """List runners."""
    query = RunnersQuery(pool=pool, status=status or "", limit=500)  # pyright: ignore[reportArgumentType]
    reply = with_client(lambda client: client.call(LIST_RUNNERS, query=query))
    if as_json:
        output.print_json(reply)
        return
    now = system_effects().clock.now()
    rows = [
        (
            item.name,
            output.state(item.status.value),
            item.admission.value,
            item.pool_name,
            ", ".join(item.labels) or "-",
            output.ago(item.last_seen_at, now),
        )
        for item in reply.runners
    ]
    empty = "no runners; add one: ostler token create --pool POOL"
    output.print_table(("RUNNER", "STATUS", "ADMISSION", "POOL", "LABELS", "SEEN"), rows, empty=empty)


@runner.command()
@click.argument("name")
@json_option
def view(*, name: str, as_json: bool) -> None:
    """Show a runner: its machine, its tools, its work."""
    _print(with_client(lambda client: client.call(GET_RUNNER, runner=name)), as_json=as_json)


@runner.command()
@click.argument("name")
@click.option("--note", default="", help="Why; shown to colleagues.")
@click.option("--for", "for_ms", type=DURATION, default=None, help="Resume by itself after this long, such as 30m.")
def pause(*, name: str, note: str, for_ms: int | None) -> None:
    """Let a runner finish its job and take no other."""
    _decide(name, "pause", note, for_ms)


@runner.command()
@click.argument("name")
def resume(*, name: str) -> None:
    """Let a paused or draining runner take jobs again."""
    _decide(name, "resume")


@runner.command()
@click.argument("name")
@click.option("--note", default="", help="Why; shown to colleagues.")
def drain(*, name: str, note: str) -> None:
    """Let a runner finish its job before it goes away."""
    _decide(name, "drain", note)


@runner.command()
@click.argument("name")
@click.option("--note", default="", help="Why; shown to colleagues.")
def disable(*, name: str, note: str) -> None:
    """Take a runner out of service."""
    _decide(name, "disable", note)


@runner.command()
@click.argument("name")
def enable(*, name: str) -> None:
    """Put a disabled or quarantined runner back into service."""
    _decide(name, "enable")


@runner.command()
@click.argument("name")
@click.option("--note", default="", help="Why; shown to colleagues.")
@click.confirmation_option(prompt="A revoked runner cannot come back without a new token. Revoke it?")
def revoke(*, name: str, note: str) -> None:
    """Take a runner's credentials away at once."""
    _decide(name, "revoke", note)


def _decide(name: str, decision: Decision, note: str = "", for_ms: int | None = None) -> None:
    request = AdmissionRequest(decision=decision, note=note, for_ms=for_ms)
    changed = with_client(lambda client: client.call(ADMIT_RUNNER, request=request, runner=name))
    output.say(f"runner {changed.name} is {changed.admission.value}")


def _print(item: RunnerView, *, as_json: bool) -> None:
    if as_json:
        output.print_json(item)
        return
    now = system_effects().clock.now()
    output.print_line(f"{item.name}  {output.state(item.status.value)}  {item.admission.value}  {item.id}")
    output.print_line(f"  pool {item.pool_name}  labels {', '.join(item.labels) or 'none'}")
    output.print_line(f"  seen {output.ago(item.last_seen_at, now)}  version {item.version or 'unknown'}")
    system = item.system
    gib = 1024**3
    output.print_line(
        f"  {system.os} {system.kernel} {system.architecture}, {system.cpus} CPUs, "
        f"{system.memory_bytes / gib:.1f} GiB memory, {system.disk_bytes / gib:.0f} GiB disk"
    )
    output.print_line(
        "  tools " + (", ".join(f"{tool} {version}" for tool, version in sorted(item.tools.items())) or "-")
    )
    if item.error:
        output.print_line(f"  error: {output.shown(item.error)}")
    if item.note:
        output.print_line(f"  note: {output.shown(item.note)}")
    if item.job_ids:
        output.print_line(f"  working on {', '.join(item.job_ids)}")
