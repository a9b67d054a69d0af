"""Archives made to do harm: the published shapes of traversal, links and bombs, for zip and tar."""

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from ostler.actions.builtin import cache_archive, zip_archive
from ostler.actions.builtin.cache_archive import zstd
from ostler.actions.builtin.placing import Caps
from ostler.actions.errors import UnsafeTree


def zipped(path: Path, *entries: tuple[str, bytes, int]) -> str:
    """An archive of names, contents and file types."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, kind in entries:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (kind | 0o777) << 16
            archive.writestr(entry, content)
    return str(path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../evil", 0),
        ("a/../../evil", 0),
        ("/tmp/evil", 0),
        ("..\\evil", 0),
        ("\\evil", 0),
        ("a/../../../../../../etc/cron.d/evil", stat.S_IFREG),
        ("link", stat.S_IFLNK),
        ("device", stat.S_IFCHR),
        ("pipe", stat.S_IFIFO),
        ("../", 0),
    ],
)
def test_zip_entries_that_leave_the_folder_or_are_no_files_are_refused(tmp_path: Path, name: str, kind: int) -> None:
    archive = zipped(tmp_path / "x.zip", ("fine", b"x", 0), (name, b"../../etc/passwd", kind))
    with pytest.raises(UnsafeTree):
        zip_archive.unpack(archive, str(tmp_path / "into"))
    assert {path.name for path in tmp_path.rglob("*")} <= {"x.zip", "into", "fine"}


def test_a_zip_is_not_written_through_a_link_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "into").mkdir()
    (tmp_path / "into/dir").symlink_to(tmp_path / "outside")
    with pytest.raises(UnsafeTree):
        zip_archive.unpack(zipped(tmp_path / "x.zip", ("dir/evil", b"x", 0)), str(tmp_path / "into"))
    assert not list((tmp_path / "outside").iterdir())


@pytest.mark.parametrize(
    "caps",
    [Caps(free_bytes=1000, ratio=10), Caps(total_bytes=100_000), Caps(entries=2)],
)
def test_zip_bombs_are_stopped_while_they_unfold(tmp_path: Path, caps: Caps) -> None:
    archive = zipped(tmp_path / "x.zip", *((f"{number}", bytes(1 << 20), 0) for number in range(3)))
    with pytest.raises(UnsafeTree):
        zip_archive.unpack(archive, str(tmp_path / "into"), caps)
    assert sum(path.stat().st_size for path in (tmp_path / "into").iterdir()) <= 3 << 20


def test_a_zip_whose_entries_overlap_is_counted_by_what_it_becomes(tmp_path: Path) -> None:
    """One content, named by many entries of the directory at its end."""
    path = tmp_path / "x.zip"
    zipped(path, ("0", bytes(1 << 20), 0))
    with zipfile.ZipFile(path, "a") as archive:
        first = archive.getinfo("0")
        for number in range(1, 50):
            again = zipfile.ZipInfo(str(number))
            for name in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(again, name, getattr(first, name))
            archive.filelist.append(again)
            archive.NameToInfo[again.filename] = again
        archive._didModify = True  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(UnsafeTree):
        zip_archive.unpack(str(path), str(tmp_path / "into"), Caps(free_bytes=4 << 20, ratio=10))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive at all", bytes(100)])
def test_what_is_no_zip_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(UnsafeTree):
        zip_archive.unpack(str(tmp_path / "x.zip"), str(tmp_path / "into"))


def test_a_zip_of_files_comes_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "ä b").write_bytes(bytes(range(200)))
    (tmp_path / "empty").touch()
    for level in (0, 9):
        zip_archive.pack(
            {"deep/ä b": str(tmp_path / "ä b"), "empty": str(tmp_path / "empty")}, str(tmp_path / "x.zip"), level
        )
        assert zip_archive.unpack(str(tmp_path / "x.zip"), str(tmp_path / "into")) == 2
        assert (tmp_path / "into/deep/ä b").read_bytes() == (tmp_path / "ä b").read_bytes()


Entry = tuple[str, bytes, str]
"""A name, a type, and the target of a link or the content."""


def tarred(path: Path, *entries: Entry) -> str:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind, text in entries:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            entry.mode = 0o4777
            if kind == tarfile.REGTYPE:
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
            else:
                entry.linkname = text
                archive.addfile(entry)
    path.write_bytes(zstd.compress(buffer.getvalue()))
    return str(path)


FILE, LINK, HARD = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.mark.parametrize(
    "entries",
    [
        [("../evil", FILE, "x")],
        [("/tmp/ostler-evil", FILE, "x")],
        [("deps/../../evil", FILE, "x")],
        [("other/evil", FILE, "x")],
        [("deps-2/evil", FILE, "x")],
        [("deps/hard", HARD, "/etc/passwd")],
        [("deps/hard", HARD, "../../etc/passwd")],
        [("deps/link", LINK, "/etc/passwd"), ("deps/hard", HARD, "deps/link")],
        [("deps/device", tarfile.CHRTYPE, "")],
        [("deps/block", tarfile.BLKTYPE, "")],
        [("deps/pipe", tarfile.FIFOTYPE, "")],
        [("evil", LINK, "/etc")],
        [("deps/a", FILE, "x"), ("deps/a/b", FILE, "y")],
        [("deps/a/b", FILE, "x"), ("deps/a", FILE, "y")],
    ],
)
def test_tar_entries_that_leave_their_paths_or_are_no_files_are_refused(tmp_path: Path, entries: list[Entry]) -> None:
    archive = tarred(tmp_path / "x.tar.zst", *entries)
    workspace = tmp_path / "work"
    with pytest.raises((UnsafeTree, OSError)):
        cache_archive.unpack(archive, str(workspace), [str(workspace / "deps")])
    assert not list(tmp_path.rglob("evil*"))
    assert not Path("/tmp/ostler-evil").exists()


@pytest.mark.parametrize("target", ["..", "/", "../../..", "."])
def test_a_tar_writes_nothing_through_links_of_its_own(tmp_path: Path, target: str) -> None:
    archive = tarred(tmp_path / "x.tar.zst", ("deps/out", LINK, target), ("deps/out/evil", FILE, "x"))
    workspace = tmp_path / "work"
    with pytest.raises((UnsafeTree, OSError)):
        cache_archive.unpack(archive, str(workspace), [str(workspace / "deps")])
    assert not [path for path in tmp_path.rglob("evil") if "out" not in path.parts]


def test_a_tar_is_not_written_through_a_link_that_was_there(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    (workspace / "deps").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (workspace / "deps/dir").symlink_to(tmp_path / "outside")
    with pytest.raises(UnsafeTree):
        cache_archive.unpack(
            tarred(tmp_path / "x.tar.zst", ("deps/dir/evil", FILE, "x")), str(workspace), [str(workspace / "deps")]
        )
    assert not list((tmp_path / "outside").iterdir())


def test_a_tar_gives_nobody_the_rights_of_another_user(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    archive = tarred(tmp_path / "x.tar.zst", ("deps/a", FILE, "x"))
    cache_archive.unpack(archive, str(workspace), [str(workspace / "deps")])
    assert stat.S_IMODE((workspace / "deps/a").stat().st_mode) == 0o777


@pytest.mark.parametrize("damaged", [None, b"nothing", b""])
def test_what_is_no_tar_is_refused(tmp_path: Path, damaged: bytes | None) -> None:
    path = tmp_path / "x.tar.zst"
    tarred(path, ("deps/a", FILE, "x" * 10_000))
    path.write_bytes(path.read_bytes()[:-5] if damaged is None else damaged)
    with pytest.raises(UnsafeTree):
        cache_archive.unpack(str(path), str(tmp_path), [str(tmp_path / "deps")])


def test_tar_bombs_are_stopped_while_they_unfold(tmp_path: Path) -> None:
    archive = tarred(tmp_path / "x.tar.zst", ("deps/a", FILE, "\0" * (8 << 20)))
    with pytest.raises(UnsafeTree):
        cache_archive.unpack(archive, str(tmp_path), [str(tmp_path / "deps")], Caps(free_bytes=1 << 20, ratio=10))


def test_the_version_of_a_cache_is_what_the_published_action_computes() -> None:
    # sha256 of "node_modules|~/.npm|zstd-without-long|1.0"
    assert cache_archive.version(["node_modules", "~/.npm"]) == (
        "1cbc60d75cb9cbdfdc7cee051451c7a3706c8311eed5c886ca3ea62cbc8efee6"
    )
