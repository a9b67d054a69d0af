"""The metadata of an action: ``action.yml``."""

from typing import Final

from ostler.workflow.language.scopes import (
    ACTION_ARGUMENT,
    ACTION_DEFAULT,
    ACTION_IF,
    ACTION_OUTPUT,
    COMPOSITE,
    COMPOSITE_IF,
)
from ostler.workflow.language.shapes import (
    FILLED,
    TEXT,
    Anything,
    Flag,
    Key,
    ListOf,
    Null,
    Table,
    Text,
    Variant,
    Variants,
    either,
)

NODE_VERSIONS: Final = ("node12", "node16", "node20", "node24")
USING: Final = ("composite", "docker", *NODE_VERSIONS)
COLORS: Final = ("white", "yellow", "blue", "green", "orange", "red", "purple", "gray-dark")

_USING: Final = Key(Text(choices=USING), "What carries it out.", required=True)
_STEP: Final = {
    "name": Key(Text(scope=COMPOSITE), "What people see."),
    "id": Key(FILLED, "How expressions refer to it: `steps.<id>`."),
    "if": Key(Text(condition=True, scope=COMPOSITE_IF), "The condition to run; `success()` where it is missing."),
    "env": Key(Table(noun="`env`", others=TEXT, scope=COMPOSITE), "Variables of this step."),
    "continue-on-error": Key(Flag(scope=COMPOSITE), "Whether the action goes on as if it had not failed."),
}
_RUN: Final = Table(
    noun="a step with `run`",
    keys={
        **_STEP,
        "run": Key(Text(scope=COMPOSITE), "The script.", required=True),
        "shell": Key(Text(scope=COMPOSITE), "The shell; an action has no default.", required=True),
        "working-directory": Key(Text(scope=COMPOSITE), "The folder to run in."),
    },
)
_USES: Final = Table(
    noun="a step with `uses`",
    keys={
        **_STEP,
        "uses": Key(FILLED, "The action: `owner/repo@ref`, `./path` or `docker://image`.", required=True),
        "with": Key(Table(noun="`with`", others=TEXT, scope=COMPOSITE), "Inputs of the action."),
    },
)
_PRE_IF: Final = Key(Text(condition=True, scope=ACTION_IF), "The condition of what comes before.")
_POST_IF: Final = Key(Text(condition=True, scope=ACTION_IF), "The condition of what comes after.")
_COMPOSITE: Final = Table(
    noun="a composite action",
    keys={
        "using": _USING,
        "steps": Key(
            ListOf(item=Variants(noun="a step", variants=(Variant("uses", _USES), Variant("run", _RUN)))),
            "What it does.",
            required=True,
        ),
    },
)
_NODE: Final = Table(
    noun="a JavaScript action",
    keys={
        "using": _USING,
        "main": Key(FILLED, "The script.", required=True),
        "pre": Key(FILLED, "A script that runs before the steps of the job."),
        "pre-if": _PRE_IF,
        "post": Key(FILLED, "A script that runs after the steps of the job."),
        "post-if": _POST_IF,
    },
)
_DOCKER: Final = Table(
    noun="a Docker action",
    keys={
        "using": _USING,
        "image": Key(FILLED, "`Dockerfile`, or `docker://image`.", required=True),
        "entrypoint": Key(FILLED, "Instead of the image's own."),
        "args": Key(ListOf(item=Text(scope=ACTION_ARGUMENT)), "Arguments of the entry point."),
        "env": Key(Table(noun="`env`", others=TEXT, scope=ACTION_ARGUMENT), "Variables within it."),
        "pre-entrypoint": Key(FILLED, "Runs before the steps of the job."),
        "pre-if": _PRE_IF,
        "post-entrypoint": Key(FILLED, "Runs after the steps of the job."),
        "post-if": _POST_IF,
    },
)
_INPUT: Final = Table(
    noun="an input",
    keys={
        "description": Key(TEXT, "What it is for."),
        "required": Key(either(Flag(), Text(choices=("true", "false"))), "Whether it must be given."),
        "default": Key(Text(scope=ACTION_DEFAULT), "Its value where none is given."),
        "deprecationMessage": Key(TEXT, "Shown to those who still give it."),
    },
    others=Anything(),
)
_OUTPUT: Final = Table(
    noun="an output",
    keys={
        "description": Key(TEXT, "What it holds."),
        "value": Key(Text(scope=ACTION_OUTPUT), "A template over `steps`, for composite actions."),
    },
)
METADATA: Final = Table(
    noun="an action",
    keys={
        "name": Key(FILLED, "What people see."),
        "description": Key(TEXT, "What it is for."),
        "author": Key(TEXT, "Who made it."),
        "inputs": Key(Table(noun="`inputs`", others=either(Null(), _INPUT)), "What callers pass with `with`."),
        "outputs": Key(Table(noun="`outputs`", others=either(Null(), _OUTPUT)), "What callers read from `steps`."),
        "runs": Key(
            Variants(
                noun="`runs`",
                variants=(Variant("steps", _COMPOSITE), Variant("main", _NODE), Variant("image", _DOCKER)),
            ),
            "How it is carried out.",
            required=True,
        ),
        "branding": Key(
            Table(noun="`branding`", keys={"icon": Key(TEXT), "color": Key(Text(choices=COLORS))}),
            "How a marketplace shows it.",
        ),
    },
)
