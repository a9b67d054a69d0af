from pathlib import Path

import pytest

from ostler.actions.globbing import GlobInvalid, Options, parse, search, search_paths

FILES = (
    "a.txt",
    "b.log",
    "lib/a.txt",
    "lib/deep/a.txt",
    "lib/deep/.hidden",
    ".dot/file",
    "we[i]rd/x",
    "lib/deep/b.log",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "tree"


FILES_ONLY = Options(directories=False)


def found(tree: Path, text: str, options: Options = FILES_ONLY, *, descendants: bool = True) -> list[str]:
    patterns = parse(text, str(tree), "/home/me", descendants=descendants)
    return [Path(path).relative_to(tree).as_posix() for path in search(patterns, options)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.txt", ["a.txt"]),
        ("*.txt", ["a.txt"]),
        ("**/*.txt", ["a.txt", "lib/a.txt", "lib/deep/a.txt"]),
        ("lib", ["lib/a.txt", "lib/deep/.hidden", "lib/deep/a.txt", "lib/deep/b.log"]),
        ("lib/", ["lib/a.txt", "lib/deep/.hidden", "lib/deep/a.txt", "lib/deep/b.log"]),
        ("a.txt/", []),
        ("lib/*", ["lib/a.txt", "lib/deep/.hidden", "lib/deep/a.txt", "lib/deep/b.log"]),
        ("lib/**", ["lib/a.txt", "lib/deep/.hidden", "lib/deep/a.txt", "lib/deep/b.log"]),
        ("lib/**/a.txt", ["lib/a.txt", "lib/deep/a.txt"]),
        ("**/deep/*.log", ["lib/deep/b.log"]),
        ("lib\n!lib/deep", ["lib/a.txt"]),
        ("lib\n!lib/deep\nlib/deep/b.log", ["lib/a.txt", "lib/deep/b.log"]),
        ("# nothing\n\n  a.txt  ", ["a.txt"]),
        ("?.txt\n[b-c].log", ["a.txt", "b.log"]),
        ("[!a].*", ["b.log"]),
        ("we\\[i\\]rd/x", ["we[i]rd/x"]),
        ("./lib/a.txt", ["lib/a.txt"]),
        (".", [*sorted(FILES, key=lambda name: name.split("/"))]),
        ("*.{txt,log}", []),
        ("absent", []),
        ("!!a.txt", ["a.txt"]),
    ],
)
def test_patterns_name_files_as_the_actions_mean_it(tree: Path, text: str, expected: list[str]) -> None:
    assert found(tree, text) == expected


def test_without_implied_descendants_a_folder_is_only_itself(tree: Path) -> None:
    assert found(tree, "lib", Options(), descendants=False) == ["lib"]
    assert found(tree, "lib/*", Options(), descendants=False) == ["lib/a.txt", "lib/deep"]
    assert found(tree, "lib/**", Options(), descendants=False)[:2] == ["lib", "lib/a.txt"]


def test_hidden_files_can_be_left_out(tree: Path) -> None:
    left = found(tree, ".", Options(directories=False, hidden=False))
    assert not [name for name in left if "/." in f"/{name}"]
    assert found(tree, ".dot/file", Options(directories=False, hidden=False)) == [".dot/file"]


def test_links_are_followed_but_not_in_circles(tree: Path) -> None:
    (tree / "lib/again").symlink_to(tree / "lib")
    (tree / "nowhere").symlink_to("absent")
    assert found(tree, "lib/again/a.txt") == ["lib/again/a.txt"]
    assert "lib/again/again/a.txt" not in found(tree, "**/a.txt")
    assert found(tree, "nowhere") == []
    assert found(tree, "lib/again", Options(follow_links=False, directories=False)) == ["lib/again"]


def test_a_tilde_is_the_home() -> None:
    assert search_paths(parse("~/x/*", "/w", "/home/me")) == ["/home/me/x"]


def test_search_begins_at_the_longest_path_without_wildcards() -> None:
    assert search_paths(parse("a/b/*.c\na/b/d\ne\n!f", "/w", "/home/me")) == ["/w/a/b", "/w/e"]


@pytest.mark.parametrize("text", ["../x", "a/../b", "a/./b", "!"])
def test_patterns_that_lead_elsewhere_are_refused(text: str) -> None:
    with pytest.raises(GlobInvalid):
        parse(text, "/w", "/home/me")
