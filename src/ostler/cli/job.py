"""``ostler job``: submit a job of shell steps and stay with it, or look at one."""

import asyncio
import shlex
import signal
import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from ostler.cli import output, streams
from ostler.cli.connection import with_client
from ostler.cli.errors import INTERRUPTED, CommandFailed
from ostler.cli.following import follow_run
from ostler.cli.options import SIZE, TIMEOUT, json_option, pairs, secrets
from ostler.client.caller import Client
from ostler.domain.job import JobKind
from ostler.effects import system_effects
from ostler.protocol.v1.run_messages import CancelRequest, JobView, RunView, SubmitRequest
from ostler.protocol.v1.spec import FEWEST_CPUS, MOST_CPUS, JobSpec, Limits, Network, StepSpec
from ostler.protocol.v1.table import CANCEL_RUN, GET_JOB, SUBMIT

_LONGEST_NAME = 60


class SubmitOptions(TypedDict):
    """What ``submit`` is given."""

    pool: str
    labels: tuple[str, ...]
    timeout: int | None
    env: tuple[str, ...]
    secret: tuple[str, ...]
    file: str | None
    shell: str
    name: str
    kind: str
    runner: str
    priority: int
    memory: int | None
    cpus: float | None
    pids: int | None
    disk: int | None
    network: Network
    artifacts: bool
    no_wait: bool
    as_json: bool
    command: tuple[str, ...]


@click.group()
def job() -> None:
    """Submit and inspect jobs."""


@job.command(short_help="Submit a job and show its log as it is written.")
@click.option("--pool", default="", help="The pool to run in; `default`, or without it, the organization's default.")
@click.option("--label", "labels", multiple=True, help="A label that the runner must have. May be repeated.")
@click.option("--timeout", type=TIMEOUT, help="End the job after this long, such as 10m.")
@click.option("--env", "env", multiple=True, metavar="NAME=VALUE", help="An environment variable. May be repeated.")
@click.option(
    "--secret", "secret", multiple=True, metavar="NAME[=VALUE]", help="An environment variable that logs never show."
)
@click.option("--file", "file", metavar="FILE", help="A script to run; `-` reads standard input.")
@click.option("--shell", default="", help="The shell of --file: bash, sh or a command line with {0}.")
@click.option("--name", default="", help="What to call the run.")
@click.option("--kind", type=click.Choice([kind.value for kind in JobKind]), default="ci", help="What the job is.")
@click.option("--runner", default="", help="Pin the job to the runner of this name.")
@click.option("--priority", type=click.IntRange(-1000, 1000), default=0, help="Higher is served first.")
@click.option("--memory", type=SIZE, help="End the job when it uses more memory than this, such as 512MiB.")
@click.option(
    "--cpus", type=click.FloatRange(FEWEST_CPUS, MOST_CPUS), help="Give the job no more cores than this, such as 1.5."
)
@click.option("--pids", type=click.IntRange(1, 1 << 22), help="Let the job have no more processes and threads at once.")
@click.option("--disk", type=SIZE, help="End the job when its files take more than this, such as 1GiB.")
@click.option(
    "--network", type=click.Choice(["full", "none"]), default="full", help="`none` keeps the job from every network."
)
@click.option("--artifacts", is_flag=True, help="Let its steps keep artifacts, by `ostler artifact upload`.")
@click.option("--no-wait", is_flag=True, help="Return at once instead of following the log.")
@json_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def submit(**given: Unpack[SubmitOptions]) -> int:
    """Submit a job, show its log as it is written, and exit with the job's exit code.

    \b
    ostler job submit -- sh -c 'echo hello'
    ostler job submit --pool build --label linux --file script.sh
    """  # noqa: D301 - click needs the escaped character itself
    if "" in given["labels"]:
        raise click.UsageError("a --label is empty")
    step = _step(given["command"], given["file"], given["shell"])
    spec = JobSpec(
        name=given["name"] or step.name,
        steps=[step],
        env=pairs(given["env"], "--env"),
        secrets=secrets(given["secret"]),
        timeout_ms=given["timeout"],
        limits=Limits(memory_bytes=given["memory"], cpus=given["cpus"], pids=given["pids"], disk_bytes=given["disk"]),
        network=given["network"],
        job_token=given["artifacts"],
    )
    request = SubmitRequest(
        spec=spec,
        key=system_effects().ids.new("sub"),
        kind=JobKind(given["kind"]),
        pool=given["pool"],
        labels=list(given["labels"]),
        runner_name=given["runner"],
        priority=given["priority"],
    )
    return with_client(lambda client: _submitted(client, request, wait=not given["no_wait"], as_json=given["as_json"]))


@job.command()
@click.argument("job_id")
@json_option
def view(*, job_id: str, as_json: bool) -> None:
    """Show a job: where it stands, why it waits, its steps and attempts."""
    found = with_client(lambda client: client.call(GET_JOB, job_id=job_id))
    if as_json:
        output.print_json(found)
    else:
        print_job(found, system_effects().clock.now())


def print_job(found: JobView, now: int) -> None:
    """Print a job for a person."""
    output.print_line(f"{found.id}  {output.state(found.state.value, marked=True)}  {output.shown(found.name)}")
    output.print_line(f"  pool {found.pool_name}  labels {', '.join(found.labels) or 'none'}  kind {found.kind.value}")
    if found.waiting is not None:
        output.print_line(f"  waiting: {found.waiting.sentence}")
        if found.waiting.would_start:
            output.print_line(f"  would start it now: {found.waiting.would_start}")
    if found.failure is not None:
        detail = f" ({found.failure.detail})" if found.failure.detail else ""
        evidence = f", {output.shown(found.failure.evidence)}" if found.failure.evidence else ""
        output.print_line(f"  cause: {found.failure.cause.value}{detail}{evidence}")
    for step in found.steps:
        length = (step.finished_at or now) - step.started_at if step.started_at is not None else None
        took = output.span(length) if length is not None else ""
        output.print_line(
            f"  {output.state(step.state.value, marked=True)}  {output.shown(step.name)}  {took}".rstrip()
        )
    for attempt in found.attempts:
        output.print_line(
            f"  attempt {attempt.fence}: {attempt.state} on {attempt.runner_name}, "
            f"{output.count(attempt.log_lines, 'log line')}"
        )


def _step(command: tuple[str, ...], file: str | None, shell: str) -> StepSpec:
    if (file is None) == (not command):
        raise click.UsageError("give either a command after `--` or a script with --file")
    if file is None:
        if not command[0]:
            raise click.UsageError("the command is empty")
        if shell:
            raise click.UsageError("--shell is for a script of --file; a command starts without a shell")
        return StepSpec(name=_shortened(shlex.join(command)), argv=list(command))
    name = "standard input" if file == "-" else Path(file).name
    try:
        script = (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode("utf-8-sig")
    except OSError as error:
        raise CommandFailed(f"cannot read {file}: {error.strerror}", exit_code=2, code="script_unreadable") from error
    except UnicodeDecodeError as error:
        raise CommandFailed(f"{name} is not UTF-8 text", exit_code=2, code="script_unreadable") from error
    script = script.replace("\r\n", "\n")
    if not script.strip():
        raise CommandFailed(f"{name} is empty", fix="put commands into it", exit_code=2, code="script_empty")
    return StepSpec(name=name, script=script, shell=shell or _shebang(script))


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _shebang(script: str) -> str:
    first = script.partition("\n")[0]
    if not first.startswith("#!"):
        return "sh"
    interpreter = first[2:].strip()
    plain = interpreter.rsplit("/", 1)[-1]
    return plain if plain in ("sh", "bash") else f"{interpreter} {{0}}"


async def _submitted(client: Client, request: SubmitRequest, *, wait: bool, as_json: bool) -> int:
    created = await client.call(SUBMIT, request=request)
    if not wait:
        _print_submitted(created, as_json=as_json)
        return 0
    output.say(f"run {created.id} submitted to pool {created.jobs[0].pool_name}")
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await follow_run(client, created, as_json=as_json)
    except asyncio.CancelledError:
        reason = "interrupted at the terminal"
        if task is not None:
            task.uncancel()
    except BrokenPipeError:
        reason = "nobody reads its output any more"
        streams.abandon()
    output.say(f"\ncancelling {created.id}: {reason} (submit with --no-wait to leave a job running)")
    await client.call(CANCEL_RUN, request=CancelRequest(reason=reason), run_id=created.id)
    return INTERRUPTED


def _print_submitted(created: RunView, *, as_json: bool) -> None:
    if as_json:
        output.print_json(created)
    else:
        output.print_line(created.id)
        output.say(f"follow it with `ostler run watch {created.id}`")
