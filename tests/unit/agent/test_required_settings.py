"""The agent's settings as users of other agents know them: each key with its default, its form and its variable."""

from pathlib import Path

import pytest

from ostler.agent.configuration import Configuration, load
from ostler.agent.configuration_file import search
from ostler.agent.errors import ConfigurationError

KINDS = ("ci", "deployment", "insights_scan", "policy_evaluation")

# key, default, a text in the environment, what it means
ROWS: list[tuple[str, object, str, object]] = [
    ("token", "", "secret", "secret"),
    ("service_url", "http://127.0.0.1:7080", "https://ostler.example.org///", "https://ostler.example.org"),
    ("working_directory", "", "/opt/tools", "/opt/tools"),
    ("single_run", False, "true", True),
    ("enabled_workflow_types", KINDS, "deployment,policy_evaluation", ("deployment", "policy_evaluation")),
    ("env_forward_allowlist", (), "AWS_REGION HTTPS_PROXY", ("AWS_REGION", "HTTPS_PROXY")),
    ("polling_interval", 60.0, "1h30m", 5400.0),
    ("polling_interval_override", False, "true", True),
    ("job_status_loop_interval", 30.0, "500ms", 0.5),
    ("request_timeout", 30.0, "1.5s", 1.5),
    ("request_retry_count", 2, "5", 5),
    ("request_retry_wait", 20.0, "2s", 2.0),
    ("request_retry_max_wait", 120.0, "10m", 600.0),
    ("circuit_breaker_failures", 2, "9", 9),
    ("circuit_breaker_timeout", 600.0, "30s", 30.0),
    ("http_server_port", 8080, "9000", 9000),
    ("health_threshold", None, "5m", 300.0),
    ("syslog", False, "true", True),
    ("debug", False, "1", True),
]
every_key = pytest.mark.parametrize(("key", "default", "text", "meant"), ROWS, ids=[row[0] for row in ROWS])


def value(configuration: Configuration, key: str) -> object:
    return getattr(configuration, key)


@every_key
def test_a_key_has_its_default(key: str, default: object, text: str, meant: object) -> None:
    assert value(load(None, {}).configuration, key) == default


@every_key
def test_a_key_has_a_variable_that_beats_the_file(
    key: str, default: object, text: str, meant: object, tmp_path: Path
) -> None:
    file = tmp_path / "ostler-agent.yaml"
    file.write_text(f"{key}: {'[ci]' if isinstance(default, tuple) and default else ''}\n", encoding="utf-8")
    variables = {f"OSTLER_AGENT_{key.upper()}": text}
    assert value(load(file, variables).configuration, key) == meant


def test_both_forms_of_lists_are_understood() -> None:
    for key in ("enabled_workflow_types", "env_forward_allowlist"):
        for text in ("ci,deployment", "ci deployment", "ci, deployment"):
            assert value(load(None, {f"OSTLER_AGENT_{key.upper()}": text}).configuration, key) == ("ci", "deployment")


def test_an_unknown_kind_of_job_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'scan' is not one of"):
        load(None, {"OSTLER_AGENT_ENABLED_WORKFLOW_TYPES": "scan"})


def test_only_the_token_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "ostler-agent.yaml"
    file.write_text("token: abc\n", encoding="utf-8")
    assert load(file, {}).configuration.token == "abc"


def test_a_version_and_unknown_keys_break_nothing(tmp_path: Path) -> None:
    file = tmp_path / "ostler-agent.yaml"
    file.write_text("version: 1\ntoken: abc\nfrom_the_future: [1, 2]\npoling_interval: 2m\n", encoding="utf-8")
    loaded = load(file, {})
    assert (loaded.configuration.version, loaded.configuration.token) == ("1", "abc")
    assert [warning.partition(": ")[2] for warning in loaded.warnings] == [
        "unknown key `from_the_future` is ignored",
        "unknown key `poling_interval` is ignored; did you mean `polling_interval`?",
    ]


def test_the_file_is_searched_for_in_this_order(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("current", "home", "etc", "program")]
    current, home, system, program = places
    for place in reversed(places):
        place.mkdir()
        (place / "ostler-agent.yaml").write_text("token: abc\n", encoding="utf-8")
        assert search(current, home, program, system) == place / "ostler-agent.yaml"


def test_the_health_threshold_follows_from_the_intervals() -> None:
    assert load(None, {}).configuration.unhealthy_after == 120
    changed = {"OSTLER_AGENT_POLLING_INTERVAL": "10s", "OSTLER_AGENT_JOB_STATUS_LOOP_INTERVAL": "3m"}
    assert load(None, changed).configuration.unhealthy_after == 360
    assert load(None, {"OSTLER_AGENT_HEALTH_THRESHOLD": "7s"}).configuration.unhealthy_after == 7


def test_jobs_see_the_allowed_variables_of_the_host_and_the_pairs_of_the_runner() -> None:
    configuration = load(
        None, {}, {"env_forward_allowlist": ("REGION",), "environment": {"TIER": "gold"}}
    ).configuration
    host = {"REGION": "eu", "HOME": "/root", "AWS_SECRET_ACCESS_KEY": "x", "DOCKER_HOST": "unix:///run/docker.sock"}
    assert configuration.job_environment(host) == {
        "DOCKER_HOST": "unix:///run/docker.sock",
        "REGION": "eu",
        "TIER": "gold",
    }


def test_simple_clients_variables_are_understood() -> None:
    simple = {
        "API_URL": "http://server:7080/",
        "REGISTRATION_TOKEN": "abc",
        "RUNNER_NAME": "my runner",
        "RUNNER_DESCRIPTION": "Builds things",
        "RUNNER_LABELS": "linux,docker,gpu",
    }
    found = load(None, simple).configuration
    assert (found.service_url, found.token, found.name) == ("http://server:7080", "abc", "my runner")
    assert (found.description, found.labels) == ("Builds things", ("linux", "docker", "gpu"))
