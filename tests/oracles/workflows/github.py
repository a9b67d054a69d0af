"""Asks GitHub's parser: many files at once, in a process of Node."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.oracles.workflows.corpus import Sample
from tests.parts.errors import PartFailed
from tests.parts.oracles import Oracles

_SCRIPT = Path(__file__).with_name("parse.mjs")


def ask(oracles: Oracles, files: Sequence[Sample]) -> list[list[str]]:
    """Return what the parser has to say against each file."""
    lines = "".join(json.dumps({"kind": file.kind, "content": file.content}) + "\n" for file in files)
    finished = subprocess.run(
        (oracles.node, _SCRIPT), input=lines, capture_output=True, encoding="utf-8", check=False, cwd=oracles.folder
    )
    if finished.returncode != 0:
        raise PartFailed(f"Node failed: {finished.stderr[-2000:]}")
    return [json.loads(line) for line in finished.stdout.splitlines()]
