import hashlib
from pathlib import Path

import pytest

from ostler.actions.hashing import hash_files_below
from ostler.expr.errors import WrongArgument


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    for name in ("b.lock", "a/x.lock", "a-b/y.lock", "a/.hidden/z.lock", "a/deep/er/w.txt", "empty/.keep"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}")
    (tmp_path / "outside.lock").write_text("outside")
    return folder


def hashed(workspace: Path, *patterns: str) -> str:
    return str(hash_files_below(str(workspace), str(workspace.parent))(patterns))


def digest(workspace: Path, *names: str) -> str:
    """The digest of the digests of these files, in this order."""
    parts = [hashlib.sha256((workspace / name).read_bytes()).digest() for name in names]
    return hashlib.sha256(b"".join(parts)).hexdigest()


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (("b.lock",), ("b.lock",)),
        (("**/*.lock",), ("a/.hidden/z.lock", "a/x.lock", "a-b/y.lock", "b.lock")),
        (("*.lock",), ("b.lock",)),
        (("a",), ("a/.hidden/z.lock", "a/deep/er/w.txt", "a/x.lock")),
        (("b.lock", "a/x.lock"), ("b.lock", "a/x.lock")),
        (("b.lock\na/x.lock",), ("b.lock", "a/x.lock")),
        (("**/*.lock", "!**/z.lock"), ("a/x.lock", "a-b/y.lock", "b.lock")),
        (("# a comment\n\n  b.lock  ",), ("b.lock",)),
        (("[!a].lock",), ("b.lock",)),
        (("[b].lock", "a/x.lock"), ("b.lock", "a/x.lock")),
        (("./b.lock",), ("b.lock",)),
    ],
)
def test_files_are_hashed_in_the_order_of_the_walk(
    workspace: Path, patterns: tuple[str, ...], names: tuple[str, ...]
) -> None:
    assert hashed(workspace, *patterns) == digest(workspace, *names)


@pytest.mark.parametrize("pattern", ["no-such-file", "empty/*.lock", "!b.lock", "~/outside.lock", "/etc/hostname"])
def test_no_file_within_the_workspace_gives_no_digest(workspace: Path, pattern: str) -> None:
    assert hashed(workspace, pattern) == ""


def test_a_link_to_a_file_counts_and_a_link_to_a_directory_only_if_told(workspace: Path) -> None:
    (workspace / "link.lock").symlink_to("b.lock")
    (workspace / "linked").symlink_to("a-b")
    assert hashed(workspace, "link*") == digest(workspace, "b.lock")
    assert hashed(workspace, "--follow-symbolic-links", "linked") == digest(workspace, "a-b/y.lock")


@pytest.mark.parametrize("pattern", ["../outside.lock", "a/../b.lock", "--no-such-option"])
def test_patterns_that_cannot_be_meant_are_refused(workspace: Path, pattern: str) -> None:
    with pytest.raises(WrongArgument):
        hashed(workspace, pattern)


def test_a_link_that_leads_nowhere_is_refused(workspace: Path) -> None:
    (workspace / "broken.lock").symlink_to("missing")
    with pytest.raises(WrongArgument, match=r"broken\.lock"):
        hashed(workspace, "*.lock")
