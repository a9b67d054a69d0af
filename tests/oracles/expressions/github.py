"""Asks GitHub's evaluator: many expressions at once, in a process of Node."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ostler.expr.values import Value
from tests.parts.errors import PartFailed
from tests.parts.oracles import Oracles

Spelled: TypeAlias = list[object]
"""A value with its type, such as ``["string", "a"]``, or ``["error", message]``."""

_SCRIPT = Path(__file__).with_name("evaluate.mjs")


class Batch(NamedTuple):
    """Expressions that see the same contexts."""

    contexts: dict[str, Value]
    texts: list[str]


def ask(oracles: Oracles, batches: Sequence[Batch]) -> list[list[Spelled]]:
    """Return GitHub's answer to each expression of each batch."""
    lines = "".join(json.dumps(batch._asdict()) + "\n" for batch in batches)
    finished = subprocess.run(
        (oracles.node, _SCRIPT), input=lines, capture_output=True, encoding="utf-8", check=False, cwd=oracles.folder
    )
    if finished.returncode != 0:
        raise PartFailed(f"Node failed: {finished.stderr[-2000:]}")
    return [json.loads(line) for line in finished.stdout.splitlines()]
