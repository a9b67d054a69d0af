"""Every setting of the agent, once: its key, its form, its default and what it is for.

The keys of the file, the names in the environment, the flags of ``ostler agent run`` and the page of the reference all
derive from this table, so they cannot drift apart. What the values mean together is judged in ``configuration``.
"""

from enum import StrEnum
from typing import NamedTuple

PREFIX = "OSTLER_AGENT_"


class Form(StrEnum):
    """How a value is written."""

    TEXT = "text"
    FLAG = "true or false"
    NUMBER = "number"
    DURATION = "duration"
    SIZE = "size"
    LIST = "list"
    PAIRS = "pairs"


class Setting(NamedTuple):
    """One row. ``default`` is written as people would write it."""

    key: str
    form: Form
    default: str
    summary: str
    choices: tuple[str, ...] = ()
    joins: str = ","
    """How the reference shows a list in the environment; commas and spaces are both understood everywhere."""
    alias: str = ""
    """A second name in the environment, without our prefix."""
    secret: bool = False

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return PREFIX + self.key.upper()

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return "--" + self.key.replace("_", "-")


_LATER = "It takes effect with the container executors, which this version does not have."
_KINDS = ("ci", "deployment", "insights_scan", "policy_evaluation")

SETTINGS: tuple[Setting, ...] = (
    Setting("version", Form.TEXT, "", "Version of the file's format; read and not needed."),
    Setting(
        "token",
        Form.TEXT,
        "",
        "Pool token or registration token. Needed for the first start, unless `oidc_token_file` is set.",
        alias="REGISTRATION_TOKEN",
        secret=True,
    ),
    Setting("service_url", Form.TEXT, "http://127.0.0.1:7080", "Address of the control plane.", alias="API_URL"),
    Setting("name", Form.TEXT, "", "Name of this runner; empty means the name of the machine.", alias="RUNNER_NAME"),
    Setting("description", Form.TEXT, "", "What people should know of this runner.", alias="RUNNER_DESCRIPTION"),
    Setting("labels", Form.LIST, "", "What this runner offers, for jobs that ask for it.", alias="RUNNER_LABELS"),
    Setting(
        "working_directory",
        Form.TEXT,
        "",
        "Base path of runner binaries: tools found here come first. Empty means the directory of `ostler` itself.",
    ),
    Setting(
        "state_directory",
        Form.TEXT,
        "",
        "Where identity, journal and jobs are kept. Empty means `working_directory` if that is set, else systemd's "
        "STATE_DIRECTORY, else `~/.local/state/ostler/agent`.",
    ),
    Setting(
        "shared_volume_directory",
        Form.TEXT,
        "",
        "Directory on the host for the temporary directories that job containers mount. Empty means the default.",
    ),
    Setting(
        "deploy_target",
        Form.TEXT,
        "docker",
        f"Where jobs that ask for a container run. {_LATER}",
        choices=("docker", "kubernetes"),
    ),
    Setting(
        "isolation",
        Form.TEXT,
        "process",
        "How far a job is kept from this machine. This version has `process` only and refuses to start with another.",
        choices=("process", "sandbox", "docker", "kubernetes"),
    ),
    Setting(
        "job_network",
        Form.TEXT,
        "full",
        "What network jobs get. `none` keeps every job from it, `full` those that ask for that themselves.",
        choices=("full", "none"),
    ),
    Setting("single_run", Form.FLAG, "false", "End after one job."),
    Setting(
        "pull_image", Form.FLAG, "true", f"Pull the image for each job; false uses the one that is there. {_LATER}"
    ),
    Setting(
        "image_pull_policy",
        Form.TEXT,
        "IfNotPresent",
        f"When Kubernetes pulls the image. {_LATER}",
        choices=("Always", "IfNotPresent", "Never"),
    ),
    Setting(
        "enabled_workflow_types",
        Form.LIST,
        ",".join(_KINDS),
        "Which kinds of jobs this runner takes.",
        choices=_KINDS,
    ),
    Setting(
        "env_forward_allowlist",
        Form.LIST,
        "",
        "Host variables that jobs get to see. `DOCKER_HOST` always is.",
        joins=" ",
    ),
    Setting("environment", Form.PAIRS, "", "Variables that every job gets, as NAME=value."),
    Setting(
        "action_mirrors",
        Form.LIST,
        "",
        "Where actions of workflows are fetched from, the first that has one wins: addresses of git servers with "
        "`{owner}` and `{repo}`, and folders. The control plane's own store is always asked last.",
        joins=" ",
    ),
    Setting(
        "real_actions",
        Form.LIST,
        "",
        "Actions that are fetched although a built-in version answers them, such as `actions/checkout`.",
        joins=" ",
    ),
    Setting(
        "action_cache_directory",
        Form.TEXT,
        "",
        "Where fetched actions are kept for later jobs. Empty means below `state_directory`.",
    ),
    Setting(
        "tool_cache_directory",
        Form.TEXT,
        "",
        "RUNNER_TOOL_CACHE: where `setup-` actions find and keep tools. Empty means below `state_directory`.",
    ),
    Setting(
        "node",
        Form.PAIRS,
        "",
        "The programs that run JavaScript actions, as node20=/path/to/node. Others use the `node` on the search path.",
    ),
    Setting(
        "oidc_token_file",
        Form.TEXT,
        "",
        "File with an identity token of a trusted issuer, read anew whenever it is needed; `token` is then not used.",
    ),
    Setting("organization_name", Form.TEXT, "", "Organization of the pool; needed with `oidc_token_file`."),
    Setting(
        "runner_pool_id",
        Form.TEXT,
        "",
        "Pool to join; needed with `oidc_token_file`, otherwise the token says it.",
    ),
    Setting("token_expiration", Form.DURATION, "", "Life to ask for when tokens are exchanged. Empty: the server's."),
    Setting(
        "polling_interval",
        Form.DURATION,
        "1m",
        "Pause between polls when the server cannot hold them and names no other.",
    ),
    Setting(
        "polling_interval_override", Form.FLAG, "false", "Use `polling_interval` even if the server names a pause."
    ),
    Setting("job_status_loop_interval", Form.DURATION, "30s", "At most so long between two looks for a cancellation."),
    Setting("request_timeout", Form.DURATION, "30s", "How long one request may take."),
    Setting("request_retry_count", Form.NUMBER, "2", "How often a failed request is repeated."),
    Setting("request_retry_wait", Form.DURATION, "20s", "Wait before the first repetition; it doubles each time."),
    Setting("request_retry_max_wait", Form.DURATION, "2m", "Longest wait before a repetition."),
    Setting(
        "circuit_breaker_failures", Form.NUMBER, "2", "Failed requests, repetitions included, that open the breaker."
    ),
    Setting("circuit_breaker_timeout", Form.DURATION, "10m", "How long polling pauses when the breaker is open."),
    Setting("http_server_port", Form.NUMBER, "8080", "Port of the local health endpoint; 0 turns it off."),
    Setting(
        "health_threshold",
        Form.DURATION,
        "",
        "Without contact for so long the endpoint reports unhealthy. Empty: twice the longer of `polling_interval` "
        "and `job_status_loop_interval`.",
    ),
    Setting("minimum_free_disk", Form.SIZE, "256MiB", "Below it no job is taken."),
    Setting("syslog", Form.FLAG, "false", "Log to syslog instead of standard error."),
    Setting(
        "log_format",
        Form.TEXT,
        "auto",
        "`json`, `console`, or `auto`: console on a terminal.",
        choices=("auto", "json", "console"),
    ),
    Setting("debug", Form.FLAG, "false", "Log more."),
)
"""The table."""

BY_KEY = {setting.key: setting for setting in SETTINGS}
