"""``ostler eval`` as a process: what goes where, and the exit codes."""

import subprocess

from tests.parts.installation import OSTLER


def evaluated(*arguments: str, given: str = "") -> tuple[int, str, str]:
    finished = subprocess.run((*OSTLER, "eval", *arguments), input=given, capture_output=True, text=True, check=False)
    return finished.returncode, finished.stdout, finished.stderr


def test_values_errors_and_wrong_usage_are_told_apart() -> None:
    contexts = '{"matrix": {"os": ["linux", "é"]}}'
    assert evaluated("toJSON(matrix.os[1])", "--context", "-", given=contexts) == (0, '"\\"é\\""\n', "")
    code, out, error = evaluated("matrix.os = 1")
    assert (code, out) == (1, "")
    assert "  matrix.os = 1\n            ^\n" in error
    code, out, error = evaluated("1", "--context", "-", given="[")
    assert (code, out) == (2, "")
    assert "code: context_unreadable" in error
