"""What this agent is told: flags over environment over file over defaults, read once and checked as a whole.

A key that nobody knows does not stop the agent (a newer file must work with an older agent), but it is named together
with the one that was probably meant. A value that cannot be read does stop it, with its place, its cause and the fix.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple, cast

from ostler.actions.library.sources import check_mirror
from ostler.agent.configuration_file import File, read_file
from ostler.agent.errors import ConfigurationError, IsolationUnavailable
from ostler.agent.settings import BY_KEY, PREFIX, SETTINGS, Form, Setting
from ostler.agent.supervision import Network
from ostler.agent.values import Raw, Value, read
from ostler.domain.machine import Refused

_ALWAYS_FORWARDED = ("DOCKER_HOST",)


class Configuration(NamedTuple):
    """The settings, each under its key; durations in seconds. ``tests`` hold this against the table."""

    version: str
    token: str
    service_url: str
    name: str
    description: str
    labels: tuple[str, ...]
    working_directory: str
    state_directory: str
    shared_volume_directory: str
    deploy_target: str
    isolation: str
    job_network: Network
    single_run: bool
    pull_image: bool
    image_pull_policy: str
    enabled_workflow_types: tuple[str, ...]
    env_forward_allowlist: tuple[str, ...]
    environment: dict[str, str]
    action_mirrors: tuple[str, ...]
    real_actions: tuple[str, ...]
    action_cache_directory: str
    tool_cache_directory: str
    node: dict[str, str]
    oidc_token_file: str
    organization_name: str
    runner_pool_id: str
    token_expiration: float | None
    polling_interval: float
    polling_interval_override: bool
    job_status_loop_interval: float
    request_timeout: float
    request_retry_count: int
    request_retry_wait: float
    request_retry_max_wait: float
    circuit_breaker_failures: int
    circuit_breaker_timeout: float
    http_server_port: int
    health_threshold: float | None
    minimum_free_disk: int
    syslog: bool
    log_format: str
    debug: bool

    @property
    def unhealthy_after(self) -> float:
        """Seconds without contact after which the runner counts as unhealthy."""
        if self.health_threshold is not None:
            return self.health_threshold
        return 2 * max(self.polling_interval, self.job_status_loop_interval)

    def job_environment(self, host: Mapping[str, str]) -> dict[str, str]:
        """Return what every job gets: the allowed host variables, then the explicit pairs."""
        names = (*_ALWAYS_FORWARDED, *self.env_forward_allowlist)
        return {**{name: host[name] for name in names if name in host}, **self.environment}


class Loaded(NamedTuple):
    """A configuration and what was odd about its sources, one sentence each."""

    configuration: Configuration
    warnings: tuple[str, ...]
    path: Path | None = None


class _Source(NamedTuple):
    """A value and where it stands."""

    raw: Raw
    place: str


def load(path: Path | None, environment: Mapping[str, str], flags: Mapping[str, Raw] | None = None) -> Loaded:
    """Return the configuration; raise ``ConfigurationError`` if a value cannot be read or they do not fit together."""
    file = read_file(path) if path else None
    sources = {setting.key: _Source(setting.default, f"the default of {setting.key}") for setting in SETTINGS}
    warnings = [*_from_file(file, sources), *_from_environment(environment, sources)]
    for key, raw in (flags or {}).items():
        sources[key] = _Source(raw, BY_KEY[key].flag)
    values = {setting.key: _meant(setting, sources[setting.key]) for setting in SETTINGS}
    values["service_url"] = cast("str", values["service_url"]).rstrip("/")
    configuration = Configuration(**values)  # pyright: ignore[reportArgumentType]
    _check(configuration, sources)
    return Loaded(configuration, tuple(warnings), path)


def token_source(
    loaded: Loaded, environment: Mapping[str, str], flags: Mapping[str, Raw] | None = None
) -> Callable[[], str]:
    """Return what reads the token anew at each call, so that one which is replaced in its file is noticed.

    While the file cannot be read (it may just be being written) the token that was there before counts.
    """
    last = loaded.configuration

    def read_token() -> str:
        nonlocal last
        if last.oidc_token_file:
            try:
                return Path(last.oidc_token_file).read_text(encoding="utf-8").strip()
            except OSError as error:
                raise ConfigurationError(
                    f"{last.oidc_token_file}: the OIDC token cannot be read: {error.strerror}",
                    fix="Check `oidc_token_file`; whatever issues the token must keep it there.",
                ) from error
        with contextlib.suppress(ConfigurationError):
            last = load(loaded.path, environment, flags).configuration
        return last.token

    return read_token


def _from_file(file: File | None, sources: dict[str, _Source]) -> Iterator[str]:
    if file is None:
        return
    for key, raw, line in file.values:
        if key in BY_KEY:
            setting = BY_KEY[key]
            if raw != "" or setting.form is Form.TEXT:
                sources[key] = _Source(raw, f"{file.path}:{line}: {key}")
        else:
            yield f"{file.path}:{line}: unknown key `{key}` is ignored{_meant_instead(key, list(BY_KEY))}"


def _from_environment(environment: Mapping[str, str], sources: dict[str, _Source]) -> Iterator[str]:
    for setting in SETTINGS:
        for name in (setting.alias, setting.variable):
            text = environment.get(name) if name else None
            if text is not None and (text or setting.form is Form.TEXT):
                sources[setting.key] = _Source(text, name)
    known = [setting.variable for setting in SETTINGS]
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            yield f"unknown variable {name} is ignored{_meant_instead(name, known)}"


def _meant_instead(word: str, known: list[str]) -> str:
    close = get_close_matches(word, known, n=1, cutoff=0.75)
    return f"; did you mean `{close[0]}`?" if close else ""


def _meant(setting: Setting, source: _Source) -> Value | float:
    value = read(setting, source.raw)
    if isinstance(value, Refused):
        raise ConfigurationError(
            f"{source.place}: {value.reason}", fix=f"Write a {setting.form.value}, such as {_example(setting)}."
        )
    if setting.form is Form.DURATION and isinstance(value, int):
        return value / 1_000_000
    return value


def _example(setting: Setting) -> str:
    if setting.default:
        return f"`{setting.default}`"
    return {Form.DURATION: "`1h30m`", Form.PAIRS: "`NAME=value`", Form.LIST: "`a,b`"}.get(setting.form, "`text`")


def _check(configuration: Configuration, sources: Mapping[str, _Source]) -> None:
    if configuration.isolation != "process":
        raise IsolationUnavailable(
            f"{sources['isolation'].place}: this version cannot isolate jobs as {configuration.isolation!r}",
            fix="Set `isolation` to `process`. Jobs are then plain processes of the agent's user: give it one of its "
            "own, or a machine of its own.",
        )
    if configuration.oidc_token_file:
        for key in ("organization_name", "runner_pool_id"):
            if not getattr(configuration, key):
                raise ConfigurationError(
                    f"{sources['oidc_token_file'].place}: with an OIDC token `{key}` is needed too",
                    fix=f"Set `{key}`; the pool's page shows it.",
                )
    for mirror in configuration.action_mirrors:
        if isinstance(refused := check_mirror(mirror), Refused):
            raise ConfigurationError(
                f"{sources['action_mirrors'].place}: {refused.reason}",
                fix="Write `https://git.example/{owner}/{repo}` or a folder.",
            )
    if not configuration.enabled_workflow_types:
        raise ConfigurationError(
            f"{sources['enabled_workflow_types'].place}: without any kind of job the runner would have nothing to do",
            fix="Name at least one kind, or remove the key to take all of them.",
        )
    if configuration.http_server_port > 65_535:
        raise ConfigurationError(
            f"{sources['http_server_port'].place}: there is no port {configuration.http_server_port}",
            fix="Choose one from 1 to 65535, or 0 for none.",
        )
    for key in ("polling_interval", "job_status_loop_interval", "request_timeout"):
        if not getattr(configuration, key):
            raise ConfigurationError(f"{sources[key].place}: it must be longer than nothing", fix="Write `30s`.")
