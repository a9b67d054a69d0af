"""Brings the third-party files of the web pages into the package, without Node and without committing them.

``package-lock.json`` pins htmx, uPlot and the Inter font like any npm project does, so that update bots and audits see
them. This script downloads those tarballs from the registry that the user configured for npm, checks each against its
pinned digest and copies the few files that the pages serve. It runs in three places: as ``python hatch_build.py`` from
``make setup``, as a build hook of the wheel, and in its own tests. An editable install leaves it to ``make setup``.
"""

import base64
import binascii
import hashlib
import io
import json
import os
import re
import shutil
import ssl
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple, cast

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PUBLIC_REGISTRY: Final = "https://registry.npmjs.org"
LARGEST_TARBALL: Final = 32 * 1024 * 1024
ATTEMPTS: Final = 3


class AssetError(Exception):
    """The web files cannot be brought in; the message says which one, why, and what to do."""


class Package(NamedTuple):
    """One pinned package of the lock file."""

    name: str
    version: str
    integrity: str


class Wanted(NamedTuple):
    """Which files of a package go where."""

    package: str
    files: tuple[tuple[str, str], ...]


class Folder(NamedTuple):
    """A git-ignored folder and everything that belongs into it."""

    path: str
    wanted: tuple[Wanted, ...]


PAGES: Final = Folder(
    "src/ostler/server/static/vendor",
    (
        Wanted("htmx.org", (("dist/htmx.min.js", "htmx.js"), ("LICENSE", "LICENSE.htmx.txt"))),
        Wanted(
            "uplot",
            (
                ("dist/uPlot.iife.min.js", "uplot.js"),
                ("dist/uPlot.min.css", "uplot.css"),
                ("LICENSE", "LICENSE.uplot.txt"),
            ),
        ),
        Wanted(
            "@fontsource-variable/inter",
            (
                ("files/inter-latin-wght-normal.woff2", "inter-latin.woff2"),
                ("files/inter-latin-ext-wght-normal.woff2", "inter-latin-ext.woff2"),
                ("LICENSE", "LICENSE.inter.txt"),
            ),
        ),
    ),
)
TESTS: Final = Folder("tests/browser/vendor", (Wanted("axe-core", (("axe.min.js", "axe.js"),)),))

Fetch = Callable[[Package], bytes]


def read_lock(text: str) -> dict[str, Package]:
    """Return the pinned packages of an npm lock file (version 2 or 3) by name."""
    entries = cast("dict[str, dict[str, Any]]", json.loads(text).get("packages", {}))
    packages: dict[str, Package] = {}
    for path, entry in entries.items():
        folder, _, name = path.rpartition("node_modules/")
        if not name or folder:
            continue  # the project itself, or a dependency of a dependency: pages use only what they ask for
        if "version" not in entry or "integrity" not in entry:
            message = (
                f"{name} has no version or no integrity in package-lock.json: run `npm install --package-lock-only`"
            )
            raise AssetError(message)
        packages[name] = Package(name, str(entry["version"]), str(entry["integrity"]))
    return packages


def verify(package: Package, tarball: bytes) -> None:
    """Refuse a tarball that is not, bit for bit, the one that was pinned."""
    for pinned in package.integrity.split():
        algorithm, _, digest = pinned.partition("-")
        if algorithm != "sha512":
            continue
        try:
            expected = base64.b64decode(digest.partition("?")[0], validate=True)
        except binascii.Error as error:
            raise AssetError(f"{package.name}: the integrity in package-lock.json is not base64") from error
        if hashlib.sha512(tarball).digest() == expected:
            return
        raise AssetError(f"{package.name} {package.version}: the registry sent something else than what is pinned")
    raise AssetError(f"{package.name}: package-lock.json pins no sha512 digest")


def extract(package: Package, tarball: bytes, members: Iterable[str]) -> dict[str, bytes]:
    """Return the named files of a tarball; refuse the whole of it if any entry points outside."""
    found: dict[str, bytes] = {}
    wanted = set(members)
    with tarfile.open(fileobj=io.BytesIO(tarball), mode="r:gz") as archive:
        for entry in archive:
            path = PurePosixPath(entry.name)
            if path.is_absolute() or ".." in path.parts or not (entry.isfile() or entry.isdir()):
                raise AssetError(f"{package.name}: the tarball holds an unsafe entry {entry.name!r}")
            inner = "/".join(path.parts[1:])  # npm puts everything under one folder, usually `package`
            content = archive.extractfile(entry) if inner in wanted else None
            if content is not None:
                found[inner] = content.read()
    if missing := wanted - found.keys():
        raise AssetError(f"{package.name} {package.version} holds no {', '.join(sorted(missing))}")
    return found


class NpmConfig:
    """The settings that a user makes for npm, from the environment and from ``.npmrc``."""

    def __init__(self, environ: Mapping[str, str], *npmrc: Path) -> None:
        self._settings: dict[str, str] = {}
        for path in npmrc:  # later ones win
            if path.is_file():
                self._settings |= self._parse(path.read_text(encoding="utf-8"), environ)
        for name, value in environ.items():
            if name.lower().startswith("npm_config_") and value:
                self._settings[name.lower().removeprefix("npm_config_")] = value

    @staticmethod
    def _parse(text: str, environ: Mapping[str, str]) -> dict[str, str]:
        settings: dict[str, str] = {}
        for line in text.splitlines():
            name, equals, value = line.partition("=")
            if equals and not name.lstrip().startswith(("#", ";")):
                expanded = re.sub(r"\$\{(\w+)\}", lambda match: environ.get(match[1], match[0]), value.strip())
                settings[name.strip()] = expanded.strip("\"'")
        return settings

    def registry(self, package: str) -> str:
        """Return the registry that serves a package; a scope may have its own."""
        scope = package.partition("/")[0] if package.startswith("@") else ""
        chosen = self._settings.get(f"{scope}:registry") or self._settings.get("registry") or PUBLIC_REGISTRY
        return chosen.rstrip("/")

    def headers(self, registry: str) -> dict[str, str]:
        """Return what the registry wants to see, if the user gave it a token."""
        token = self._settings.get(f"{registry.partition(':')[2]}/:_authToken")
        return {"Authorization": f"Bearer {token}"} if token else {}

    def certificates(self) -> str | None:
        """Return the user's extra certificate file, if there is one."""
        return self._settings.get("cafile")


def tarball_url(registry: str, package: Package) -> str:
    """Build the address instead of reading it from the lock file: that one would name somebody else's registry."""
    return f"{registry}/{package.name}/-/{package.name.rpartition('/')[2]}-{package.version}.tgz"


def fetcher(config: NpmConfig, environ: Mapping[str, str]) -> Fetch:
    """Return a download function that honours the user's registry, proxies and certificates."""
    tls = ssl.create_default_context()  # reads SSL_CERT_FILE and SSL_CERT_DIR; urllib reads *_proxy by itself
    for extra in (config.certificates(), environ.get("NODE_EXTRA_CA_CERTS")):
        if extra and Path(extra).is_file():
            tls.load_verify_locations(extra)

    def fetch(package: Package) -> bytes:
        registry = config.registry(package.name)
        url = tarball_url(registry, package)
        request = urllib.request.Request(url, headers=config.headers(registry))  # noqa: S310 - the user chose the registry
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with urllib.request.urlopen(request, timeout=60, context=tls) as reply:  # noqa: S310 - as above
                    body = cast("bytes", reply.read(LARGEST_TARBALL + 1))
            except OSError as error:
                permanent = isinstance(error, urllib.error.HTTPError) and error.code < 500
                if permanent or attempt == ATTEMPTS:
                    raise AssetError(f"{url}: {error}. Is `npm config get registry` right?") from error
                continue
            if len(body) > LARGEST_TARBALL:
                raise AssetError(f"{url}: larger than {LARGEST_TARBALL} bytes")
            return body
        raise AssertionError

    return fetch


def is_current(folder: Path, expected: str) -> bool:
    """Tell whether the folder holds what the lock file and this script ask for."""
    manifest = folder / "manifest.json"
    if not manifest.is_file() or manifest.read_text(encoding="utf-8") != expected:
        return False
    return all((folder / name).is_file() for files in json.loads(expected).values() for name in files["files"])


def bring(root: Path, folder: Folder, packages: Mapping[str, Package], fetch: Fetch) -> bool:
    """Make a folder current; return whether anything had to be fetched."""
    for wanted in folder.wanted:
        if wanted.package not in packages:
            raise AssetError(f"{wanted.package} is not in package-lock.json: run `npm install --package-lock-only`")
    pinned = {
        wanted.package: {"integrity": packages[wanted.package].integrity, "files": [name for _, name in wanted.files]}
        for wanted in folder.wanted
    }
    expected = json.dumps(pinned, indent=2) + "\n"
    target = root / folder.path
    if is_current(target, expected):
        return False
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.mkdir(parents=True)
    try:
        for wanted in folder.wanted:
            package = packages[wanted.package]
            tarball = fetch(package)
            verify(package, tarball)
            contents = extract(package, tarball, [member for member, _ in wanted.files])
            for member, name in wanted.files:
                (fresh / name).write_bytes(contents[member])
        (fresh / "manifest.json").write_text(expected, encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return True


def bring_all(root: Path, folders: Iterable[Folder], environ: Mapping[str, str]) -> list[str]:
    """Make the folders current with the user's configuration; return those that changed."""
    packages = read_lock((root / "package-lock.json").read_text(encoding="utf-8"))
    user = Path(environ.get("NPM_CONFIG_USERCONFIG") or Path.home() / ".npmrc")
    fetch = fetcher(NpmConfig(environ, user, root / ".npmrc"), environ)
    return [folder.path for folder in folders if bring(root, folder, packages, fetch)]


class WebAssetsHook(BuildHookInterface):  # pyright: ignore[reportMissingTypeArgument]
    """Puts the files of the pages into a wheel that is being built."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fetch what is missing; hatchling then packs it as artifacts."""
        if version != "editable":
            bring_all(Path(self.root), [PAGES], os.environ)


def main() -> int:
    """Make a checkout ready: the files of the pages and those of the browser tests."""
    try:
        changed = bring_all(Path(__file__).parent, [PAGES, TESTS], os.environ)
    except AssetError as error:
        print(f"web assets: {error}", file=sys.stderr)
        return 1
    for path in changed:
        print(f"web assets: {path} is ready", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
