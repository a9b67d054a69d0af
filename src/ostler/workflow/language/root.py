"""A workflow file from its top."""

from typing import Final

from ostler.workflow.language.events import ON
from ostler.workflow.language.jobs import JOBS, PERMISSIONS, concurrency, defaults
from ostler.workflow.language.scopes import WORKFLOW, WORKFLOW_ENV
from ostler.workflow.language.shapes import TEXT, Key, Table, Text

ROOT: Final = Table(
    noun="a workflow",
    keys={
        "name": Key(TEXT, "What people see."),
        "description": Key(TEXT, "What it is for."),
        "run-name": Key(Text(scope=WORKFLOW), "What people see of one run."),
        "on": Key(ON, "The events that start it.", required=True),
        "permissions": Key(PERMISSIONS, "What the tokens of its jobs may do."),
        "env": Key(Table(noun="`env`", others=TEXT, scope=WORKFLOW_ENV), "Variables of all its jobs."),
        "defaults": Key(defaults(), "What its steps do unless they say otherwise."),
        "concurrency": Key(concurrency(WORKFLOW), "Keeps other runs of its group from running at the same time."),
        "jobs": Key(JOBS, "What it does.", required=True),
    },
)
