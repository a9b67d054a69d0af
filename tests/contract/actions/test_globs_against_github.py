"""Patterns name what GitHub's own glob names, in the same order, over a tree of odd names."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostler.actions.globbing import GlobInvalid, Options, parse, search, search_paths
from ostler.effects import Random, seeded_random
from tests.parts.errors import PartMissing
from tests.parts.oracles import find_oracles

_COUNT = 600
_NAMES = ("a", "b", "ab", "a.txt", "b.log", ".h", "lib", "a[b", "x y", "A")
_PARTS = (
    *("*", "**", "a", "b", "lib", ".h", "*.txt", "?", "a*", "[ab]", "[!a]", "[a-b]*", "{a,b}", "a\\[b", "x y", "*b*"),
    *("[a", "**a", ".*", "loop", "broken", "a.txt", "+(a)", "[^a]", "[a]", "x[ ]y", "\\*", "[]a]", "!a", "#a", ".."),
)


def _fill(root: Path, random: Random) -> None:
    for _ in range(120):
        path = root.joinpath(*(random.choice(_NAMES) for _ in range(1 + random.below(4))))
        if not any(above.is_file() for above in (path, *path.parents)) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
    (root / "loop").symlink_to(root)
    (root / "broken").symlink_to("nowhere")


def _questions(root: Path, random: Random) -> Iterator[dict[str, Any]]:
    for _ in range(_COUNT):
        lines: list[str] = []
        for _ in range(1 + random.below(3)):
            line = "/".join(random.choice(_PARTS) for _ in range(1 + random.below(4)))
            line = random.choice((f"{line}/", f"./{line}", f"{root}/{line}", line, line, line))
            lines.append(random.choice(("!", "", "", "")) + line)
        flags = {name: bool(random.below(3)) for name in ("descendants", "follow", "hidden")}
        yield {"text": "\n".join(lines), **flags}


def _answer(root: Path, asked: dict[str, Any]) -> dict[str, Any]:
    try:
        patterns = parse(asked["text"], str(root), "/home/nobody", descendants=asked["descendants"])
    except GlobInvalid as invalid:
        return {"error": str(invalid)}
    options = Options(follow_links=asked["follow"], hidden=asked["hidden"])
    return {"paths": list(search(patterns, options)), "places": search_paths(patterns)}


def test_random_patterns_name_what_github_names(tmp_path: Path) -> None:
    try:
        oracles = find_oracles()
    except PartMissing as missing:
        pytest.skip(str(missing))
    root, random = (tmp_path / "tree").resolve(), seeded_random("globs")
    _fill(root, random)
    questions = list(_questions(root, random))
    # Modules are looked for beside the script, patterns begin where the process stands.
    script = oracles.folder / "globs/glob.mjs"
    ended = subprocess.run(
        [str(oracles.node), str(script), str(tmp_path / "answers")],
        input="".join(f"{json.dumps(asked)}\n" for asked in questions),
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    answers = [json.loads(line) for line in (tmp_path / "answers").read_text().splitlines()]
    assert len(answers) == _COUNT
    named = 0
    for asked, theirs in zip(questions, answers, strict=True):
        ours = _answer(root, asked)
        if "ENOTDIR" in theirs.get("error", ""):
            continue  # theirs stumbles over a file in the place of a folder; ours names nothing there
        assert ("error" in ours) == ("error" in theirs), (asked, ours, theirs)
        if "error" not in ours:
            assert ours == theirs, asked
            named += len(ours["paths"])
    assert named > _COUNT
