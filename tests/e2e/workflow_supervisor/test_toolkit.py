"""The published client of actions, ``@actions/core``, unchanged, inside an action of our own."""

from pathlib import Path

import pytest

from ostler.agent.supervision import ActionServices
from tests.e2e.workflow_supervisor.parts import order, program, ran
from tests.parts.errors import PartMissing
from tests.parts.oracles import Oracles, find_oracles

ACTION = """
name: toolkit
description: asks everything of the client
inputs:
  name with blanks: {default: "a b"}
  flag: {default: "true"}
runs: {using: node20, main: main.js, post: post.js}
"""
MAIN = """
const core = require('@actions/core');
console.log('input', core.getInput('name with blanks'), core.getBooleanInput('flag'));
core.setOutput('plain', 1);
core.setOutput('lines', 'x\\ny=z');
core.setOutput('made', {a: [1]});
core.exportVariable('EXPORTED', 'multi\\nline');
core.addPath('/added');
core.saveState('kept', 'across');
const made = ['secret', 'value'].join('-');
core.setSecret(made);
console.log('masked', made);
core.startGroup('folded'); console.log('inside'); core.endGroup();
core.notice('seen: a, b\\nand more', {file: 'a.txt', startLine: 3, title: 'T, x: y'});
core.warning('careful');
core.debug('never shown');
core.summary.addHeading('Done').addTable([['a', 'b']]).write();
"""
POST = "const core = require('@actions/core'); console.log('state', core.getState('kept')); core.setFailed('late');"


@pytest.fixture
def oracles() -> Oracles:
    try:
        return find_oracles()
    except PartMissing as missing:
        pytest.skip(str(missing))


def test_the_client_of_real_actions_is_understood(tmp_path: Path, oracles: Oracles) -> None:
    folder = tmp_path / "mirror/acme/toolkit@v1"
    folder.mkdir(parents=True)
    for name, text in (("action.yml", ACTION), ("main.js", MAIN), ("post.js", POST)):
        (folder / name).write_text(text)
    job = program(
        """
        - uses: acme/toolkit@v1
          id: kit
          env: {NODE_PATH: MODULES}
        - env: {OUT: "${{ toJSON(steps.kit.outputs) }}"}
          run: |
            echo "$OUT" | tr -d ' \\n'; echo
            echo "$EXPORTED" | tr '\\n' '|'; echo "${PATH%%:*}"
        """.replace("MODULES", str(oracles.folder / "node_modules"))
    )
    services = ActionServices(
        runner_name="bench",
        mirrors=(f"{tmp_path}/mirror",),
        node={"node20": str(oracles.node)},
        cache=str(tmp_path / "c"),
    )
    found = ran(tmp_path / "attempts", order(job, services=services))
    said = [line for line in found.said if not line.startswith("Action ") and line]
    assert said == [
        "input a b true",
        "masked ***",
        "inside",
        "and more",
        r'{"plain":"1","lines":"x\ny=z","made":"{\"a\":[1]}"}',
        "multi|line|/added",
        "state across",
    ], found.log
    kit = next(event for event in found.events if event.step_id == "kit" and event.conclusion)
    told = [(one.level, one.message, one.file, one.line, one.title) for one in kit.annotations]
    assert told == [
        ("notice", "seen: a, b\nand more", "a.txt", 3, "T, x: y"),
        ("warning", "careful", "", 0, ""),
    ]
    assert kit.summary.startswith("<h1>Done</h1>")
    assert found.step("Post Run acme/toolkit@v1").annotations[0].message == "late"
    assert (found.result.conclusion, "never shown" in found.log) == ("failed", False)
