import base64
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from hatch_build import (
    PAGES,
    TESTS,
    AssetError,
    Folder,
    NpmConfig,
    Package,
    Wanted,
    bring,
    extract,
    read_lock,
    tarball_url,
    verify,
)

ROOT = Path(__file__).parents[2]


def tarball(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def pinned(content: bytes, name: str = "thing") -> Package:
    digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
    return Package(name, "1.0.0", f"sha512-{digest}")


def test_the_lock_pins_everything_that_the_pages_and_tests_want() -> None:
    packages = read_lock((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    wanted = {wanted.package for folder in (PAGES, TESTS) for wanted in folder.wanted}
    assert wanted == packages.keys()
    assert all(package.integrity.startswith("sha512-") for package in packages.values())


def test_the_lock_agrees_with_package_json() -> None:
    asked = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    packages = read_lock((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    assert asked["dependencies"] | asked["devDependencies"] == {
        package.name: package.version for package in packages.values()
    }


def test_the_lock_is_read_for_direct_packages_only() -> None:
    entry = {"version": "2.0.0", "integrity": "sha512-AAAA"}
    lock = {
        "packages": {
            "": {},
            "node_modules/@scope/a": entry,
            "node_modules/b": entry,
            "node_modules/b/node_modules/c": entry,
        }
    }
    assert read_lock(json.dumps(lock)).keys() == {"@scope/a", "b"}


def test_a_lock_entry_without_integrity_is_refused() -> None:
    with pytest.raises(AssetError, match="no integrity"):
        read_lock(json.dumps({"packages": {"node_modules/b": {"version": "2.0.0"}}}))


def test_the_pinned_tarball_is_accepted() -> None:
    verify(pinned(b"content"), b"content")


@pytest.mark.parametrize(
    ("integrity", "words"),
    [
        (pinned(b"other").integrity, "something else"),
        ("sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "no sha512"),
        ("sha512-***", "not base64"),
        ("", "no sha512"),
    ],
)
def test_any_other_tarball_is_refused(integrity: str, words: str) -> None:
    with pytest.raises(AssetError, match=words):
        verify(Package("thing", "1.0.0", integrity), b"content")


def test_wanted_files_are_extracted_whatever_the_top_folder_is_called() -> None:
    content = tarball({"thing-1.0/dist/a.js": b"a", "thing-1.0/b.js": b"b"})
    assert extract(pinned(content), content, ["dist/a.js"]) == {"dist/a.js": b"a"}


@pytest.mark.parametrize("name", ["../evil.js", "package/../../evil.js", "/etc/evil.js"])
def test_a_tarball_that_points_outside_is_refused_whole(name: str) -> None:
    content = tarball({"package/a.js": b"a", name: b"evil"})
    with pytest.raises(AssetError, match="unsafe"):
        extract(pinned(content), content, ["a.js"])


def test_a_tarball_with_a_link_is_refused_whole() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("package/a.js")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    with pytest.raises(AssetError, match="unsafe"):
        extract(pinned(buffer.getvalue()), buffer.getvalue(), ["a.js"])


def test_a_tarball_without_the_wanted_file_is_refused() -> None:
    content = tarball({"package/a.js": b"a"})
    with pytest.raises(AssetError, match=r"holds no b\.js"):
        extract(pinned(content), content, ["b.js"])


FOLDER = Folder("vendor", (Wanted("thing", (("dist/a.js", "a.js"),)),))


def test_files_are_fetched_once_and_again_when_the_pin_moves(tmp_path: Path) -> None:
    fetched: list[str] = []

    def contents(word: bytes) -> bytes:
        return tarball({"package/dist/a.js": word})

    def make_current(word: bytes) -> bool:
        def fetch(package: Package) -> bytes:
            fetched.append(package.integrity)
            return contents(word)

        return bring(tmp_path, FOLDER, {"thing": pinned(contents(word))}, fetch)

    assert make_current(b"one")
    assert not make_current(b"one")
    assert make_current(b"two")
    assert (tmp_path / "vendor/a.js").read_bytes() == b"two"
    (tmp_path / "vendor/a.js").unlink()
    assert make_current(b"two")
    assert len(fetched) == 3


def test_a_refused_tarball_leaves_what_was_there(tmp_path: Path) -> None:
    good = tarball({"package/dist/a.js": b"good"})
    bring(tmp_path, FOLDER, {"thing": pinned(good)}, lambda _: good)
    with pytest.raises(AssetError):
        bring(tmp_path, FOLDER, {"thing": pinned(b"pinned anew")}, lambda _: b"tampered")
    assert (tmp_path / "vendor/a.js").read_bytes() == b"good"
    assert [path.name for path in tmp_path.iterdir()] == ["vendor"]


def test_the_registry_is_the_one_that_the_user_configured(tmp_path: Path) -> None:
    npmrc = tmp_path / ".npmrc"
    npmrc.write_text(
        "; a comment\nregistry=https://mirror.example/npm/\n@scope:registry = https://scoped.example\n"
        "//mirror.example/npm/:_authToken=${MIRROR_KEY}\n"
    )
    config = NpmConfig({"MIRROR_KEY": "key"}, npmrc)
    assert config.registry("htmx.org") == "https://mirror.example/npm"
    assert config.registry("@scope/thing") == "https://scoped.example"
    assert config.headers("https://mirror.example/npm") == {"Authorization": "Bearer key"}
    assert config.headers("https://scoped.example") == {}
    assert NpmConfig({"NPM_CONFIG_REGISTRY": "https://env.example/"}, npmrc).registry("a") == "https://env.example"
    assert NpmConfig({}, tmp_path / "none").registry("a") == "https://registry.npmjs.org"


def test_the_address_of_a_scoped_package_repeats_only_its_last_name() -> None:
    package = Package("@fontsource-variable/inter", "5.3.0", "")
    assert tarball_url("https://r.example", package) == (
        "https://r.example/@fontsource-variable/inter/-/inter-5.3.0.tgz"
    )
