from pathlib import Path

import pytest

from ostler.actions.engine.shells import Shell, find_shell
from ostler.domain.machine import Refused

PROGRAMS = ("bash", "sh", "pwsh", "python3", "node", "perl")


@pytest.fixture
def path(tmp_path: Path) -> str:
    for name in PROGRAMS:
        (tmp_path / name).touch(mode=0o755)
    return str(tmp_path)


CASES = [
    ("", "{}/bash -e S"),
    ("bash", "{}/bash --noprofile --norc -e -o pipefail S"),
    ("sh", "{}/sh -e S"),
    ("python", "{}/python3 S"),
    ("node", "{}/node S"),
    ("pwsh", "{}/pwsh -command . 'S'"),
    ("perl -w {0}", "{}/perl -w S"),
    ("bash -c 'a b; source {0}'", "{}/bash -c a b; source S"),
]


@pytest.mark.parametrize(("named", "command"), CASES, ids=[case[0] or "default" for case in CASES])
def test_runs(path: str, named: str, command: str) -> None:
    shell = find_shell(named, path, "/")
    assert isinstance(shell, Shell)
    assert " ".join(shell.argv("S")) == command.format(path)


def test_sh_stands_in_where_there_is_no_bash(tmp_path: Path) -> None:
    (tmp_path / "sh").touch(mode=0o755)
    shell = find_shell("", str(tmp_path), "/")
    assert isinstance(shell, Shell)
    assert shell.words == (f"{tmp_path}/sh", "-e", "{0}")


REFUSED = [
    ("cmd", "shell_unavailable"),
    ("powershell", "shell_unavailable"),
    ("ruby {0}", "shell_unavailable"),
    ("fish", "shell_invalid"),
    ("bash -c 'open {0}", "shell_invalid"),
]


@pytest.mark.parametrize(("named", "code"), REFUSED, ids=[case[0] for case in REFUSED])
def test_refuses(path: str, named: str, code: str) -> None:
    shell = find_shell(named, path, "/")
    assert isinstance(shell, Refused)
    assert shell.code == code


def test_scripts_are_written_as_their_shell_wants_them(path: str) -> None:
    bash, powershell = find_shell("bash", path, "/"), find_shell("pwsh", path, "/")
    assert isinstance(bash, Shell)
    assert isinstance(powershell, Shell)
    assert bash.content("a\r\nb") == "a\nb"
    assert powershell.content("a").startswith("$ErrorActionPreference = 'stop'\na\n")
    assert (bash.extension, powershell.extension) == (".sh", ".ps1")
