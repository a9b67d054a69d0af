"""A job: its own steps, or the call of a reusable workflow."""

from typing import Final

from ostler.workflow.language.scopes import (
    CREDENTIALS,
    ENVIRONMENT_URL,
    JOB,
    JOB_DEFAULTS,
    JOB_IF,
    JOB_OUTPUT,
    JOB_SECRETS,
    NOWHERE,
    STRATEGY,
    Scope,
)
from ostler.workflow.language.shapes import (
    FILLED,
    FILLED_OR_LIST,
    SCALAR,
    TEXT,
    Anything,
    Flag,
    Key,
    ListOf,
    Number,
    Shape,
    Table,
    Text,
    Variant,
    Variants,
    either,
)
from ostler.workflow.language.steps import STEPS

_ANY: Final = ("read", "write", "none")
_WRITE: Final = ("write", "none")
_READ: Final = ("read", "none")
SCOPES_OF_PERMISSION: Final[dict[str, tuple[str, ...]]] = {
    "actions": _ANY,
    "artifact-metadata": _ANY,
    "attestations": _ANY,
    "checks": _ANY,
    "code-quality": _ANY,
    "contents": _ANY,
    "copilot-requests": _WRITE,
    "deployments": _ANY,
    "discussions": _ANY,
    "drives": _ANY,
    "id-token": _WRITE,
    "issues": _ANY,
    "models": _READ,
    "packages": _ANY,
    "pages": _ANY,
    "pull-requests": _ANY,
    "repository-projects": _ANY,
    "security-events": _ANY,
    "statuses": _ANY,
    "vulnerability-alerts": _READ,
}
PERMISSIONS: Final = either(
    Text(choices=("read-all", "write-all")),
    Table(
        noun="`permissions`",
        keys={name: Key(Text(choices=levels)) for name, levels in SCOPES_OF_PERMISSION.items()},
    ),
)


def concurrency(scope: Scope) -> Shape:
    """Return the shape of ``concurrency``."""
    return either(
        FILLED,
        Table(
            noun="`concurrency`",
            keys={
                "group": Key(FILLED, "Of one group, one runs at a time.", required=True),
                "cancel-in-progress": Key(Flag(), "Whether a newer one cancels the one that runs."),
                "queue": Key(Text(choices=("single", "max")), "Whether one waits, or as many as come."),
            },
        ),
        scope=scope,
    )


def defaults(scope: Scope = NOWHERE) -> Table:
    """Return the shape of ``defaults``."""
    run = Table(
        noun="`defaults.run`",
        keys={
            "shell": Key(FILLED, "The shell of steps that name none."),
            "working-directory": Key(FILLED, "The folder of steps that name none."),
        },
        scope=scope,
    )
    return Table(noun="`defaults`", keys={"run": Key(run, "Of all steps with `run`.")})


_CONTAINER: Final = {
    "image": Key(FILLED, "The image."),
    "options": Key(TEXT, "Further options of `docker create`."),
    "env": Key(Table(noun="`env`", others=Text(scope=JOB_OUTPUT)), "Variables within it."),
    "ports": Key(ListOf(item=FILLED), "Ports to publish."),
    "volumes": Key(ListOf(item=FILLED), "Volumes to mount: `source:destination`."),
    "credentials": Key(
        Table(
            noun="`credentials`",
            keys={"username": Key(FILLED), "password": Key(FILLED)},
            scope=CREDENTIALS,
        ),
        "How to sign in to the registry.",
    ),
}
_SERVICE: Final = {
    **_CONTAINER,
    "entrypoint": Key(TEXT, "Instead of the image's own."),
    "command": Key(TEXT, "Arguments of the entry point."),
}
_COMBINATION: Final = Table(noun="a combination of the matrix", others=Anything())
MATRIX: Final = Table(
    noun="`matrix`",
    keys={
        "include": Key(ListOf(item=_COMBINATION), "Combinations to add or to extend."),
        "exclude": Key(ListOf(item=_COMBINATION), "Combinations to leave out."),
    },
    others=ListOf(item=Anything()),
)
_STRATEGY: Final = Table(
    noun="`strategy`",
    keys={
        "matrix": Key(MATRIX, "One job for each combination of values."),
        "fail-fast": Key(Flag(), "Whether one failure cancels the others; true where it is missing."),
        "max-parallel": Key(Number(), "How many of them run at a time."),
    },
    scope=STRATEGY,
)
_COMMON: Final = {
    "name": Key(Text(scope=JOB), "What people see."),
    "needs": Key(FILLED_OR_LIST, "Jobs that come before it."),
    "if": Key(Text(condition=True, scope=JOB_IF), "The condition to run; `success()` where it is missing."),
    "permissions": Key(PERMISSIONS, "What the job's token may do."),
    "concurrency": Key(concurrency(JOB), "Keeps others of its group from running at the same time."),
    "strategy": Key(_STRATEGY, "Makes several jobs of it."),
}
_RUNS_ON: Final = either(
    FILLED,
    ListOf(item=FILLED, filled=True),
    Table(
        noun="`runs-on`",
        keys={"group": Key(FILLED, "A pool of runners."), "labels": Key(FILLED_OR_LIST, "Labels that it must have.")},
    ),
    scope=JOB,
)
_ENVIRONMENT: Final = either(
    Text(),
    Table(
        noun="`environment`",
        keys={
            "name": Key(Text(), "Its name.", required=True),
            "url": Key(Text(scope=ENVIRONMENT_URL), "Where the deployment can be seen."),
            "deployment": Key(Flag(), "Whether a deployment is recorded; true where it is missing."),
        },
    ),
    scope=JOB,
)
_SNAPSHOT: Final = either(
    FILLED,
    Table(
        noun="`snapshot`",
        keys={
            "image-name": Key(FILLED, "The image to make.", required=True),
            "if": Key(Text(condition=True, scope=JOB), "The condition to make it."),
            "version": Key(FILLED, "Its version."),
        },
    ),
)
OWN: Final = Table(
    noun="a job",
    keys={
        **_COMMON,
        "runs-on": Key(_RUNS_ON, "Labels that its runner must have.", required=True),
        "environment": Key(_ENVIRONMENT, "The environment that it deploys to."),
        "env": Key(Table(noun="`env`", others=TEXT, scope=JOB_SECRETS), "Variables of all its steps."),
        "defaults": Key(defaults(JOB_DEFAULTS), "What its steps do unless they say otherwise."),
        "outputs": Key(Table(noun="`outputs`", others=Text(scope=JOB_OUTPUT)), "What jobs that need it can read."),
        "timeout-minutes": Key(Number(scope=JOB), "After how many minutes it is stopped; 360 where it is missing."),
        "cancel-timeout-minutes": Key(Number(scope=JOB), "How long its steps may take to end when it is cancelled."),
        "continue-on-error": Key(Flag(scope=JOB), "Whether the run passes although it failed."),
        "container": Key(
            either(Text(), Table(noun="`container`", keys=_CONTAINER), scope=JOB), "The container of its steps."
        ),
        "services": Key(
            Table(
                noun="`services`",
                others=either(FILLED, Table(noun="a service", keys=_SERVICE)),
                scope=JOB,
            ),
            "Containers beside it, by their host names.",
        ),
        "snapshot": Key(_SNAPSHOT, "Makes an image of its runner."),
        "steps": Key(STEPS, "What it does, in this order."),
    },
)
CALL: Final = Table(
    noun="a job with `uses`",
    keys={
        **_COMMON,
        "uses": Key(FILLED, "The workflow: `./path/file.yml` or `owner/repo/path/file.yml@ref`.", required=True),
        "with": Key(
            Table(noun="`with`", others=either(*SCALAR.shapes, scope=JOB)),
            "Inputs of the called workflow.",
        ),
        "secrets": Key(
            either(
                Text(choices=("inherit",)),
                Table(noun="`secrets`", others=either(*SCALAR.shapes, scope=JOB_SECRETS)),
            ),
            "Secrets of the called workflow.",
        ),
    },
)
JOBS: Final = Table(
    noun="`jobs`",
    others=Variants(noun="a job", variants=(Variant("uses", CALL),), otherwise=OWN),
    filled=True,
)
