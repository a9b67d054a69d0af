from pathlib import Path

import click
import pytest

from ostler.cli.env_files import read_pairs


def written(folder: Path, text: str) -> Path:
    path = folder / "file"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("# a comment\n\nA=1\n", {"A": "1"}),
        ("export A = x # comment\nB=a#b", {"A": "x", "B": "a#b"}),
        ("A=b=c", {"A": "b=c"}),
        ("A='as it \\n is # so'", {"A": "as it \\n is # so"}),
        ('A="two\\nlines \\"quoted\\""', {"A": 'two\nlines "quoted"'}),
        ('A="over\nlines"\nB=2', {"A": "over\nlines", "B": "2"}),
        ("A=1\nA=2", {"A": "2"}),
        ("\ufeffA=1\r\n", {"A": "1"}),
        ("A=", {"A": ""}),
    ],
)
def test_a_file_sets(tmp_path: Path, text: str, values: dict[str, str]) -> None:
    assert read_pairs(written(tmp_path, text), "--env-file") == values


@pytest.mark.parametrize(
    ("text", "part"), [("A=1\nno pair\n", "file:2: write NAME=VALUE"), ('A="open\nB=1', "file:1: the quote")]
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(click.UsageError, match=part):
        read_pairs(written(tmp_path, text), "--env-file")


def test_a_missing_file_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="No such file"):
        read_pairs(tmp_path / "none", "--env-file")
