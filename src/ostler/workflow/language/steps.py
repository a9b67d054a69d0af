"""The steps of a job: what runs, what is called, and what waits for steps in the background."""

from typing import Final

from ostler.workflow.language.scopes import STEP, STEP_IF
from ostler.workflow.language.shapes import (
    FILLED,
    FILLED_OR_LIST,
    TEXT,
    Flag,
    Key,
    ListOf,
    Null,
    Number,
    Table,
    Text,
    Variant,
    Variants,
    either,
)

VARIABLES: Final = Table(noun="`env`", others=TEXT)
WITH: Final = Table(noun="`with`", others=TEXT)

_COMMON: Final = {
    "name": Key(Text(scope=STEP), "What people see."),
    "id": Key(FILLED, "How expressions refer to it: `steps.<id>`."),
    "continue-on-error": Key(Flag(scope=STEP), "Whether the job goes on as if it had not failed."),
}
_EXECUTED: Final = {
    **_COMMON,
    "if": Key(Text(condition=True, scope=STEP_IF), "The condition to run; `success()` where it is missing."),
    "timeout-minutes": Key(Number(scope=STEP), "After how many minutes it is stopped."),
    "env": Key(Table(noun="`env`", others=TEXT, scope=STEP), "Variables of this step."),
    "background": Key(Flag(), "Whether the steps after it begin while it runs."),
}
RUN: Final = Table(
    noun="a step with `run`",
    keys={
        **_EXECUTED,
        "run": Key(Text(scope=STEP), "The script.", required=True),
        "shell": Key(FILLED, "The shell: bash, sh, pwsh, powershell, cmd, python, or a template with `{0}`."),
        "working-directory": Key(Text(scope=STEP), "The folder to run in."),
    },
)
USES: Final = Table(
    noun="a step with `uses`",
    keys={
        **_EXECUTED,
        "uses": Key(FILLED, "The action: `owner/repo@ref`, `./path` or `docker://image`.", required=True),
        "with": Key(Table(noun="`with`", others=TEXT, scope=STEP), "Inputs of the action."),
    },
)
_WAIT: Final = Table(
    noun="a step with `wait`",
    keys={**_COMMON, "wait": Key(FILLED_OR_LIST, "Ids of background steps to wait for.", required=True)},
)
_WAIT_ALL: Final = Table(
    noun="a step with `wait-all`",
    keys={**_COMMON, "wait-all": Key(either(Null(), Flag()), "Waits for all background steps.", required=True)},
)
_CANCEL: Final = Table(
    noun="a step with `cancel`",
    keys={**_COMMON, "cancel": Key(FILLED, "The id of a background step to stop.", required=True)},
)
_AT_ONCE: Final = Variants(noun="a step within `parallel`", variants=(Variant("uses", USES), Variant("run", RUN)))
_PARALLEL: Final = Table(
    noun="a step with `parallel`",
    keys={"parallel": Key(ListOf(item=_AT_ONCE, filled=True), "Steps that run at the same time.", required=True)},
)
STEPS: Final = ListOf(
    item=Variants(
        noun="a step",
        variants=(
            Variant("uses", USES),
            Variant("run", RUN),
            Variant("wait", _WAIT),
            Variant("wait-all", _WAIT_ALL),
            Variant("cancel", _CANCEL),
            Variant("parallel", _PARALLEL),
        ),
    )
)
