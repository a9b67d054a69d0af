"""An operation of an infrastructure engine is a job of steps: whatever program the runner's machine offers runs it."""

import asyncio
import os
from pathlib import Path

import pytest

from ostler.agent.supervision import StepOrder
from tests.e2e.supervisor.parts import order, run


@pytest.mark.parametrize("engine", ["terraform", "tofu", "terragrunt"])
def test_an_engine_plans_and_applies_in_one_working_folder(tmp_path: Path, engine: str) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    program = tools / engine
    program.write_text(f'#!/bin/sh\necho "{engine} $1"; echo "$1" >>state; [ "$1" != apply ] || cat state\n', "utf-8")
    program.chmod(0o755)
    steps = [StepOrder(name=verb, argv=(engine, verb)) for verb in ("init", "plan", "apply")]
    job = order(*steps, env={"PATH": f"{tools}:{os.environ['PATH']}"})
    result, log, _ = asyncio.run(run(tmp_path / "state", job))
    assert result.conclusion == "succeeded"
    assert log.decode().split("\n")[:3] == [f"{engine} init", f"{engine} plan", f"{engine} apply"]
    assert log.endswith(b"init\nplan\napply\n")
