"""The parts of a real agent, as a list: what the configuration says, and the doors of this machine."""

import fcntl
import os
import platform
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ostler.actions.reach import reach_of
from ostler.agent.agent import Agent
from ostler.agent.capabilities import LocalTools
from ostler.agent.configuration import Configuration
from ostler.agent.disk import LocalDisk
from ostler.agent.errors import ConfigurationError, StateInUse
from ostler.agent.local_supervisors import LocalSupervisors
from ostler.agent.logging import Log, console_sink, json_sink, open_syslog, syslog_sink
from ostler.agent.machine import LocalMachine
from ostler.agent.parts import AgentParts, AgentSettings
from ostler.agent.polling import PollRules
from ostler.agent.program import Program
from ostler.agent.supervision import ActionServices
from ostler.client.http_transport import HttpTransport
from ostler.client.policy import Policy
from ostler.client.transport import Transport
from ostler.domain.job import JobKind
from ostler.effects import Effects
from ostler.executors import cgroup

_SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Paths(NamedTuple):
    """The directories of one runner."""

    binaries: Path
    state: Path
    attempts: Path


def make_program(
    configuration: Configuration,
    token: Callable[[], str],
    effects: Effects,
    environment: Mapping[str, str],
    runners: int | None = None,
) -> Program:
    """Return the program of one runner, or of so many numbered ones. This process's cgroup is arranged for its jobs."""
    cgroup.delegate()
    log = make_log(configuration, effects)
    transport = HttpTransport(configuration.service_url, environment)
    name = runner_name(configuration)
    names = [name] if runners is None else [f"{name}-{number}" for number in range(1, runners + 1)]
    agents = [make_agent(one, configuration, token, effects, environment, transport, log) for one in names]
    return Program(
        agents,
        transport,
        effects.clock,
        log,
        health_port=configuration.http_server_port,
        unhealthy_after=configuration.unhealthy_after,
    )


def runner_name(configuration: Configuration) -> str:
    """Return the name that was given, or the machine's."""
    return configuration.name or platform.node() or "runner"


def make_agent(
    name: str,
    configuration: Configuration,
    token: Callable[[], str],
    effects: Effects,
    environment: Mapping[str, str],
    transport: Transport,
    log: Log,
) -> Agent:
    """Return one runner of this machine; it owns its state directory from now on."""
    paths = directories(name, configuration, environment)
    own(paths.state)
    disk = LocalDisk(paths.state)
    settings = make_settings(name, configuration, token, environment)._replace(
        services=action_services(name, configuration, paths, environment)
    )
    slots = len({kind.slot for kind in settings.job_kinds})
    return Agent(
        AgentParts(
            settings=settings,
            effects=effects,
            transport=transport,
            disk=disk,
            supervisors=LocalSupervisors(paths.attempts, slots),
            machine=LocalMachine(paths.state),
            tools=LocalTools(disk, environment, str(paths.binaries)),
            log=log,
        )
    )


def make_settings(
    name: str, configuration: Configuration, token: Callable[[], str], environment: Mapping[str, str]
) -> AgentSettings:
    """Return the configuration in the units that the agent works with."""
    return AgentSettings(
        name=name,
        service_url=configuration.service_url,
        token=token,
        description=configuration.description,
        labels=configuration.labels,
        job_kinds=tuple(JobKind(kind) for kind in configuration.enabled_workflow_types),
        isolation=configuration.isolation,
        job_network=configuration.job_network,
        environment=_job_environment(configuration, environment),
        policy=Policy(
            timeout_seconds=configuration.request_timeout,
            retries=configuration.request_retry_count,
            wait_seconds=configuration.request_retry_wait,
            max_wait_seconds=configuration.request_retry_max_wait,
        ),
        breaker_failures=max(1, configuration.circuit_breaker_failures),
        breaker_seconds=configuration.circuit_breaker_timeout,
        poll=PollRules(configuration.polling_interval, configuration.polling_interval_override),
        status_seconds=configuration.job_status_loop_interval,
        minimum_free_bytes=configuration.minimum_free_disk,
        single_run=configuration.single_run,
    )


def action_services(
    name: str, configuration: Configuration, paths: Paths, environment: Mapping[str, str]
) -> ActionServices:
    """Return what the actions of workflows find on this machine. Runners of one machine share nothing by themselves."""
    return ActionServices(
        runner_name=name,
        server=configuration.service_url,
        cache=str(Path(configuration.action_cache_directory or paths.state / "actions").absolute()),
        mirrors=configuration.action_mirrors,
        reach=reach_of(environment),
        real_actions=configuration.real_actions,
        node=configuration.node,
        tool_cache=str(Path(configuration.tool_cache_directory or paths.state / "tools").absolute()),
    )


def directories(name: str, configuration: Configuration, environment: Mapping[str, str]) -> Paths:
    """Return where a runner keeps things, making what is missing."""
    binaries = Path(configuration.working_directory or Path(sys.argv[0]).resolve().parent)
    if configuration.state_directory or configuration.working_directory:
        base = Path(configuration.state_directory or configuration.working_directory)
    elif environment.get("STATE_DIRECTORY"):
        base = Path(environment["STATE_DIRECTORY"].partition(":")[0])
    else:
        home = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
        base = Path(home) / "ostler" / "agent"
    state = base.absolute() / _file_name(name)
    attempts = state / "attempts"
    if configuration.shared_volume_directory:
        attempts = Path(configuration.shared_volume_directory).absolute() / f"ostler-{_file_name(name)}"
    for directory in (state, attempts):
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ConfigurationError(
                f"{directory} cannot be made: {error.strerror}",
                fix="Set `state_directory` to a directory that this user may write to.",
            ) from error
    return Paths(binaries, state, attempts)


def own(state: Path) -> None:
    """Hold the state directory's lock until this process ends: two agents with one journal would lie to each other."""
    descriptor = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise StateInUse(
            f"another agent works in {state}", fix="Stop it, or give this one another `name` or `state_directory`."
        ) from error


def make_log(configuration: Configuration, effects: Effects) -> Log:
    """Return the log that the configuration asks for."""
    if configuration.syslog:
        open_syslog()
        return Log(syslog_sink, effects.clock, debug=configuration.debug)
    console = configuration.log_format == "console" or (configuration.log_format == "auto" and sys.stderr.isatty())
    return Log(console_sink if console else json_sink, effects.clock, debug=configuration.debug)


def _job_environment(configuration: Configuration, host: Mapping[str, str]) -> dict[str, str]:
    """Add the directory of runner binaries in front of the jobs' search path, if one was named."""
    own_pairs = configuration.job_environment(host)
    if configuration.working_directory and "PATH" not in own_pairs:
        own_pairs["PATH"] = f"{configuration.working_directory}:{_SEARCH_PATH}"
    return own_pairs


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name).lstrip(".") or "runner"
