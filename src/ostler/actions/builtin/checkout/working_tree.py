"""Checkout in a local run: the working tree as it is, with uncommitted files and without ignored ones.

The job gets a repository of its own that borrows the objects of the one it was copied from: commands of git work, show
the same history, branches and changes, and cannot harm the original.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from ostler.actions.builtin.checkout import repository
from ostler.actions.builtin.checkout.inputs import Inputs
from ostler.actions.builtin.invocation import ActionFailed, Invocation
from ostler.actions.git import Git

_LISTED = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
_KEPT_SETTINGS = (
    r"^(remote\..*\.(url|fetch|promisor|partialclonefilter)|branch\..*\.(remote|merge)|user\.(name|email)|"
    r"core\.(autocrlf|eol|filemode|ignorecase|symlinks)|extensions\.objectformat)$"
)


def copy(inputs: Inputs, invocation: Invocation) -> int:
    """Copy the working tree into the workspace; return how many files."""
    services = invocation.services
    source = os.path.realpath(services.source)
    if not os.path.isdir(source):
        raise ActionFailed(f"the working tree {services.source} does not exist")
    git = Git(source, environment=invocation.environment)
    top = git.attempt("rev-parse", "--show-toplevel")
    if top is not None:
        source = os.fsdecode(top).removesuffix("\n")
        git = Git(source, environment=invocation.environment)
    os.makedirs(inputs.path, exist_ok=True)
    if inputs.clean:
        repository.empty(inputs.path)
    ours = [
        os.path.realpath(folder)
        for folder in (inputs.path, invocation.workspace, services.store, services.cache)
        if folder
    ]
    skipped = tuple(f"{folder}{os.sep}" for folder in ours if folder.startswith(f"{source}{os.sep}"))
    names = _everything(source, skipped) if top is None else _listed(git)
    copied = _copy_files(source, inputs.path, names, skipped, inputs)
    if top is not None:
        _copy_repository(git, inputs.path)
    return copied


def _copy_files(source: str, target: str, names: Iterator[str], skipped: tuple[str, ...], inputs: Inputs) -> int:
    copied = 0
    made = {target}
    for name in names:
        path = os.path.join(source, name)
        if skipped and path.startswith(skipped):
            continue
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue  # deleted, and not committed yet
        place = os.path.join(target, name)
        above = os.path.dirname(place)
        if above not in made:
            os.makedirs(above, exist_ok=True)
            made.add(above)
        if stat.S_ISDIR(mode):
            copied += _copy_submodule(path, place, inputs)
        elif stat.S_ISLNK(mode):
            _replace(place)
            os.symlink(os.readlink(path), place)
            copied += 1
        elif stat.S_ISREG(mode):
            _replace(place)
            shutil.copyfile(path, place)
            if mode & 0o111:
                os.chmod(place, 0o755)  # noqa: S103 - a program, as git would check it out
            copied += 1
    return copied


def _copy_submodule(path: str, place: str, inputs: Inputs) -> int:
    os.makedirs(place, exist_ok=True)
    if not inputs.submodules or not os.path.exists(os.path.join(path, ".git")):
        return 0
    deeper = inputs if inputs.recursive else inputs._replace(submodules=False)
    return _copy_files(path, place, _listed(Git(path)), (), deeper)


def _listed(git: Git) -> Iterator[str]:
    """Yield what git tracks or would track."""
    for name in git.output(*_LISTED).split(b"\0"):
        if name:
            yield os.fsdecode(name).rstrip("/")


def _everything(source: str, skipped: tuple[str, ...]) -> Iterator[str]:
    """Yield all files below a folder that is no repository."""
    for above, folders, names in os.walk(source):
        links = [name for name in folders if os.path.islink(os.path.join(above, name))]
        folders[:] = [
            name
            for name in folders
            if name not in links and not f"{os.path.join(above, name)}{os.sep}".startswith(skipped or ("\0",))
        ]
        for name in (*names, *links):
            yield os.path.relpath(os.path.join(above, name), source)


def _copy_repository(git: Git, target: str) -> None:
    folders = git.output("rev-parse", "--git-dir", "--git-common-dir")
    own, shared = (os.path.join(git.folder, os.fsdecode(line)) for line in folders.splitlines())
    repository.make(target, "", 40)
    repository.borrow(target, os.path.realpath(shared))
    folder = os.path.join(target, ".git")
    with open(os.path.join(folder, "config"), "wb") as file:
        file.write(_settings(git))
    refs = git.output("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes")
    with open(os.path.join(folder, "packed-refs"), "wb") as file:
        file.write(refs)
    for origin, name in ((own, "HEAD"), (own, "index"), (shared, "shallow"), (shared, "info/exclude")):
        with suppress(FileNotFoundError):
            shutil.copyfile(os.path.join(origin, name), os.path.join(folder, name))
    for name in os.listdir(own):
        if name.startswith("sharedindex."):
            shutil.copyfile(os.path.join(own, name), os.path.join(folder, name))


def _settings(git: Git) -> bytes:
    """Return the configuration that describes the repository, without credentials and without programs to run."""
    found = git.attempt("config", "--local", "-z", "--get-regexp", _KEPT_SETTINGS) or b""
    lines = ["[core]", "\tbare = false", "\tlogallrefupdates = true", "[gc]", "\tauto = 0"]
    version = 0
    for entry in found.split(b"\0"):
        key, _, value = entry.decode("utf-8", "surrogateescape").partition("\n")
        if not key:
            continue
        section, _, name = key.rpartition(".")
        kind, dot, subsection = section.partition(".")
        if name == "url":
            value = _without_credentials(value)
        version = 1 if kind == "extensions" else version
        lines += [f'[{kind} "{_quoted(subsection)}"]' if dot else f"[{kind}]", f'\t{name} = "{_quoted(value)}"']
    lines.insert(1, f"\trepositoryformatversion = {version}")
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def _without_credentials(url: str) -> str:
    if "://" not in url or not url.startswith("http"):
        return url
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _replace(place: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(place)
