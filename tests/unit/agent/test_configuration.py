"""The agent's configuration: every row of the requirements, and that file, environment, flags and code cannot drift."""

from pathlib import Path

import pytest

from ostler.agent.configuration import Configuration, load, token_source
from ostler.agent.configuration_file import search
from ostler.agent.errors import ConfigurationError, IsolationUnavailable
from ostler.agent.settings import BY_KEY, PREFIX, SETTINGS, Form
from ostler.agent.values import Raw
from ostler.cli.agent import agent


def loaded(environment: dict[str, str] | None = None, **flags: Raw) -> Configuration:
    return load(None, environment or {}, flags).configuration


def from_file(directory: Path, text: str, environment: dict[str, str] | None = None) -> Configuration:
    path = directory / "ostler-agent.yaml"
    path.write_text(text)
    return load(path, environment or {}).configuration


# Drift.


def test_the_table_the_configuration_and_the_flags_name_the_same_keys() -> None:
    keys = [setting.key for setting in SETTINGS]
    assert sorted(keys) == sorted(Configuration._fields)
    assert len(keys) == len(set(keys))
    for command in ("run", "configure", "doctor"):
        names = {parameter.name for parameter in agent.commands[command].params}
        assert set(keys) <= names


@pytest.mark.parametrize("key", sorted(BY_KEY.keys() - {"isolation"}))
def test_every_key_has_an_environment_form_that_beats_the_file(key: str, tmp_path: Path) -> None:
    """Rows 111 and 112."""
    setting = BY_KEY[key]
    assert setting.variable == f"OSTLER_AGENT_{key.upper()}"
    samples = {
        Form.FLAG: ("true", "false"),
        Form.NUMBER: ("11", "12"),
        Form.DURATION: ("11s", "12s"),
        Form.SIZE: ("11MiB", "12MiB"),
        Form.LIST: ("/one", "/two"),
        Form.PAIRS: ("A=one", "A=two"),
        Form.TEXT: ("one", "two"),
    }
    first, second = setting.choices[:2] if setting.choices else samples[setting.form]
    more = (
        {"OSTLER_AGENT_ORGANIZATION_NAME": "o", "OSTLER_AGENT_RUNNER_POOL_ID": "p"} if key == "oidc_token_file" else {}
    )
    file = from_file(tmp_path, f"{key}: '{first}'\n", more)
    both = from_file(tmp_path, f"{key}: '{first}'\n", {**more, setting.variable: second})
    alone = loaded({**more, setting.variable: second})
    assert getattr(file, key) != getattr(both, key)
    assert getattr(both, key) == getattr(alone, key)
    assert getattr(load(None, {**more, setting.variable: first}, {key: second}).configuration, key) == getattr(
        alone, key
    )


@pytest.mark.parametrize("level", ["sandbox", "docker", "kubernetes"])
def test_an_isolation_that_this_version_does_not_have_is_refused_wherever_it_stands(level: str, tmp_path: Path) -> None:
    """It must not be claimed: the server would send jobs here that demand it."""
    text, variable = f"isolation: {level}\n", BY_KEY["isolation"].variable
    for place, ask in {
        "ostler-agent.yaml:1": lambda: from_file(tmp_path, text),
        variable: lambda: loaded({variable: level}),
        "--isolation": lambda: loaded(isolation=level),
    }.items():
        with pytest.raises(IsolationUnavailable, match=f"{place}.*{level}") as caught:
            ask()
        assert (caught.value.code, caught.value.exit_code) == ("isolation_unavailable", 2)
        assert "`process`" in caught.value.fix
    assert from_file(tmp_path, text, {variable: "process"}).isolation == "process"


@pytest.mark.parametrize(
    ("row", "key", "expected"),
    [
        (115, "service_url", "http://127.0.0.1:7080"),
        (117, "working_directory", ""),
        (118, "shared_volume_directory", ""),
        (119, "deploy_target", "docker"),
        (122, "single_run", False),
        (123, "pull_image", True),
        (124, "enabled_workflow_types", ("ci", "deployment", "insights_scan", "policy_evaluation")),
        (126, "env_forward_allowlist", ()),
        (129, "oidc_token_file", ""),
        (130, "organization_name", ""),
        (131, "runner_pool_id", ""),
        (132, "token_expiration", None),
        (133, "polling_interval", 60.0),
        (135, "polling_interval_override", False),
        (136, "job_status_loop_interval", 30.0),
        (137, "request_timeout", 30.0),
        (138, "request_retry_count", 2),
        (139, "request_retry_wait", 20.0),
        (140, "request_retry_max_wait", 120.0),
        (141, "circuit_breaker_failures", 2),
        (142, "circuit_breaker_timeout", 600.0),
        (143, "http_server_port", 8080),
        (144, "health_threshold", None),
        (145, "syslog", False),
        (147, "image_pull_policy", "IfNotPresent"),
    ],
)
def test_defaults(row: int, key: str, expected: object) -> None:
    assert getattr(loaded(), key) == expected, f"row {row}"


# Forms.


def test_only_the_token_is_needed(tmp_path: Path) -> None:
    """Rows 110 and 114."""
    assert from_file(tmp_path, "token: abc\n").token == "abc"


@pytest.mark.parametrize(
    ("text", "seconds"), [("1h30m", 5400.0), ("1.5s", 1.5), ("300ms", 0.3), ("10us", 1e-5), ("2m", 120.0)]
)
def test_durations_have_the_form_of_go(text: str, seconds: float) -> None:
    """Row 113."""
    assert loaded({"OSTLER_AGENT_REQUEST_TIMEOUT": text}).request_timeout == seconds


def test_trailing_slashes_of_the_address_are_stripped() -> None:
    """Row 116."""
    assert loaded(service_url="https://ci.example/base//").service_url == "https://ci.example/base"


@pytest.mark.parametrize("text", ["deployment,insights_scan", "deployment insights_scan", "deployment, insights_scan"])
@pytest.mark.parametrize("name", ["ENABLED_WORKFLOW_TYPES", "ENV_FORWARD_ALLOWLIST", "LABELS"])
def test_lists_take_commas_and_spaces(name: str, text: str) -> None:
    """Rows 125 and 127, rule 22."""
    assert getattr(loaded({PREFIX + name: text}), name.lower()) == ("deployment", "insights_scan")


def test_lists_of_a_file_are_lists_and_pairs_are_pairs(tmp_path: Path) -> None:
    text = "labels: [a, 'b']\nenvironment:\n  A: 1\n  B: yes\nenv_forward_allowlist:\n  - HOME\n"
    configuration = from_file(tmp_path, text)
    assert configuration.labels == ("a", "b")
    assert configuration.environment == {"A": "1", "B": "yes"}
    assert loaded({"OSTLER_AGENT_ENVIRONMENT": "A=1 B=yes"}).environment == {"A": "1", "B": "yes"}


def test_jobs_see_the_allowlist_docker_host_and_the_explicit_pairs() -> None:
    """Rows 106, 126, 128, 161, 174; rule 17."""
    host = {"HOME": "/h", "SECRET": "no", "DOCKER_HOST": "tcp://d", "AWS_REGION": "eu"}
    configuration = load(
        None, {}, {"env_forward_allowlist": ("AWS_REGION", "ABSENT"), "environment": {"OWN": "1"}}
    ).configuration
    assert configuration.job_environment(host) == {"DOCKER_HOST": "tcp://d", "AWS_REGION": "eu", "OWN": "1"}


def test_health_threshold_derives_from_the_longer_interval() -> None:
    """Row 144."""
    assert loaded().unhealthy_after == 120.0
    assert loaded(job_status_loop_interval="5m").unhealthy_after == 600.0
    assert loaded(health_threshold="10s").unhealthy_after == 10.0


def test_the_environment_form_of_simple_clients() -> None:
    """Row 157."""
    configuration = loaded(
        {
            "API_URL": "https://ci.example/",
            "REGISTRATION_TOKEN": "reg",
            "RUNNER_NAME": "my runner",
            "RUNNER_DESCRIPTION": "under the desk",
            "RUNNER_LABELS": "linux,docker",
        }
    )
    assert (configuration.service_url, configuration.token, configuration.name) == (
        "https://ci.example",
        "reg",
        "my runner",
    )
    assert (configuration.description, configuration.labels) == ("under the desk", ("linux", "docker"))
    assert loaded({"API_URL": "http://a", "OSTLER_AGENT_SERVICE_URL": "http://b"}).service_url == "http://b"


# Files.


def test_the_search_order_of_the_file(tmp_path: Path) -> None:
    """Row 109."""
    places = [tmp_path / name for name in ("current", "home", "etc", "program")]
    for place in places:
        place.mkdir()
        (place / "ostler-agent.yaml").write_text("token: x\n")
    current, home, etc, program = places
    for place in places:
        assert search(current, home, program, etc) == place / "ostler-agent.yaml"
        (place / "ostler-agent.yaml").unlink()
    assert search(current, home, program, etc) is None


def test_toml_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "ostler-agent.toml"
    path.write_text(
        'token = "abc"\nsingle_run = true\nrequest_retry_count = 5\nlabels = ["a", "b"]\n[environment]\nA = 1\n'
    )
    configuration = load(path, {}).configuration
    assert (configuration.token, configuration.single_run, configuration.request_retry_count) == ("abc", True, 5)
    assert (configuration.labels, configuration.environment) == (("a", "b"), {"A": "1"})


def test_unknown_keys_are_named_and_do_not_break_the_agent(tmp_path: Path) -> None:
    """Row 148."""
    path = tmp_path / "ostler-agent.yaml"
    path.write_text("version: 1\ntoken: x\npoling_interval: 2m\nfuture:\n  nested: [1, {a: b}]\n")
    result = load(path, {f"{PREFIX}TOKNE": "x"})
    assert result.configuration.version == "1"
    assert result.warnings == (
        f"{path}:3: unknown key `poling_interval` is ignored; did you mean `polling_interval`?",
        f"{path}:4: unknown key `future` is ignored",
        f"unknown variable {PREFIX}TOKNE is ignored; did you mean `OSTLER_AGENT_TOKEN`?",
    )


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("token: x\npolling_interval: 5 parsecs\n", ":2", "unit"),
        ("token: x\npolling_interval: 60\n", ":2", "unit is missing"),
        ("polling_interval: -1m\n", ":1", "less than nothing"),
        ("token: 'x\n", ":2", "not YAML"),
        ("token: x\n\ttabs: y\n", ":2", "not YAML"),
        ("- a\n- b\n", ":1", "keys and values"),
        ("token: x\ntoken: y\n", ":2", "second time"),
        ("deploy_target: vmware\n", ":1", "docker, kubernetes"),
        ("enabled_workflow_types: [deployment, magic]\n", ":1", "'magic' is not one of"),
        ("single_run: maybe\n", ":1", "neither true nor false"),
        ("request_retry_count: many\n", ":1", "not a whole number"),
        ("http_server_port: 70000\n", ":1", "no port"),
        ("minimum_free_disk: lots\n", ":1", "size"),
        ("token: [a, b]\n", ":1", "one value"),
        ("labels: {a: b}\n", ":1", "list"),
    ],
)
def test_what_cannot_be_read_names_file_line_cause_and_fix(tmp_path: Path, text: str, place: str, says: str) -> None:
    """Rows 113, 119, 124."""
    with pytest.raises(ConfigurationError) as raised:
        from_file(tmp_path, text)
    assert f"ostler-agent.yaml{place}" in str(raised.value)
    assert says in str(raised.value)
    assert raised.value.fix


def test_a_malformed_toml_file_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "ostler-agent.toml"
    path.write_text('token = "x"\nname = \n')
    with pytest.raises(ConfigurationError, match=r"ostler-agent\.toml:2: not TOML"):
        load(path, {})


def test_a_malformed_variable_is_named() -> None:
    with pytest.raises(ConfigurationError, match="OSTLER_AGENT_REQUEST_TIMEOUT: 'soon'"):
        loaded({"OSTLER_AGENT_REQUEST_TIMEOUT": "soon"})


@pytest.mark.parametrize("missing", ["organization_name", "runner_pool_id"])
def test_oidc_needs_organization_and_pool(missing: str) -> None:
    """Rows 129 to 131."""
    given = {"oidc_token_file": "/t", "organization_name": "o", "runner_pool_id": "p"}
    del given[missing]
    with pytest.raises(ConfigurationError, match=missing):
        load(None, {}, given)


# The token may be replaced in place (rows 280, 281, 395).


def test_the_token_is_read_anew_and_a_broken_file_does_not_lose_it(tmp_path: Path) -> None:
    path = tmp_path / "ostler-agent.yaml"
    path.write_text("token: first\n")
    token = token_source(load(path, {}), {})
    assert token() == "first"
    path.write_text("token: second\n")
    assert token() == "second"
    path.write_text("token: 'half")
    assert token() == "second"


def test_an_oidc_token_comes_from_its_file_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("jwt-1\n")
    flags: dict[str, Raw] = {
        "oidc_token_file": str(file),
        "organization_name": "o",
        "runner_pool_id": "p",
        "token": "unused",
    }
    token = token_source(load(None, {}, flags), {}, flags)
    assert token() == "jwt-1"
    file.write_text("jwt-2")
    assert token() == "jwt-2"


def test_a_mirror_that_means_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="action_mirrors: `nonsense` is no source of actions"):
        from_file(tmp_path, "action_mirrors: [nonsense]\n")
