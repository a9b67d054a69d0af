"""The agent's settings as users of other agents know them: each key with its default, its form and its variable."""

from pathlib import Path

import pytest

from ostler.agent.configuration import Configuration, load
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


def test_an_unknown_kind_of_job_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'scan' is not one of"):
        load(None, {"OSTLER_AGENT_ENABLED_WORKFLOW_TYPES": "scan"})
