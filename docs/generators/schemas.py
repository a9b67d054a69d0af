"""The JSON Schemas of workflows and actions, as files that editors can be pointed to."""

import json

from ostler.workflow.schema import SCHEMAS


def workflow() -> str:
    """The schema of workflows."""
    return _text("workflow")


def action() -> str:
    """The schema of actions."""
    return _text("action")


def _text(kind: str) -> str:
    return json.dumps(SCHEMAS[kind](), indent=1) + "\n"
