"""The table of popular actions: it knows at least what Ostler's own versions take and give."""

import pytest

from ostler.actions.library import builtins
from ostler.workflow.check import check_workflow
from ostler.workflow.language.actions import ACTIONS


@pytest.mark.parametrize("name", sorted(builtins._BUILTINS))
def test_inputs_of_built_in_actions_are_known(name: str) -> None:
    """Or the checker would complain of what the runner takes."""
    own, known = builtins._BUILTINS[name], ACTIONS[name]
    assert set(own.inputs) <= known.inputs
    assert set(own.required) == known.required
    assert known.outputs is not None
    assert set(own.outputs) <= known.outputs


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_what_is_known_is_not_reported(name: str) -> None:
    """All inputs of each action at once, in any case."""
    inputs = ", ".join(f"{each.upper()}: x" for each in sorted(ACTIONS[name].inputs))
    text = f"on: push\njobs: {{a: {{runs-on: x, steps: [{{uses: {name}@v9, with: {{{inputs}}}}}]}}}}\n"
    assert check_workflow("ci.yml", text).findings == ()
