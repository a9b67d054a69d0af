"""The repository in the workspace: made by hand, because that costs nothing, or cleaned if it is there already."""

import os
import shutil
import stat
from contextlib import suppress

from ostler.actions.builtin.checkout.target import Target
from ostler.actions.git import Git


def prepare(path: str, url: str, git: Git, *, clean: bool, hash_length: int) -> bool:
    """Have a repository with this remote at a path; return whether it was there before."""
    os.makedirs(path, exist_ok=True)
    if _is_usable(path, url, git):
        for name in ("index.lock", "shallow.lock"):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(path, ".git", name))
        if not clean or _cleaned(git):
            return True
    empty(path)
    make(path, url, hash_length)
    return False


def empty(path: str) -> None:
    """Delete what is in a folder, and not the folder: it may be where the job stands."""
    with os.scandir(path) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


def make(path: str, url: str, hash_length: int) -> None:
    """Write what ``git init`` and ``git remote add`` would write."""
    folder = os.path.join(path, ".git")
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"):
        os.makedirs(os.path.join(folder, name))
    _write(folder, "HEAD", "ref: refs/heads/main\n")
    quoted = url.replace("\\", "\\\\").replace('"', '\\"')
    extension = "[extensions]\n\tobjectformat = sha256\n" if hash_length == 64 else ""
    _write(
        folder,
        "config",
        f"[core]\n\trepositoryformatversion = {1 if extension else 0}\n\tfilemode = true\n\tbare = false\n"
        f"\tlogallrefupdates = true\n{extension}"
        f'[remote "origin"]\n\turl = "{quoted}"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[gc]\n\tauto = 0\n',
    )


def borrow(path: str, mirror: str) -> None:
    """Let a repository use the objects of another one."""
    folder = os.path.join(path, ".git")
    line = f"{os.path.abspath(mirror)}/objects\n"
    with open(
        os.path.join(folder, "objects/info/alternates"), "a+", encoding="utf-8", errors="surrogateescape"
    ) as file:
        file.seek(0)
        if line not in file.read():
            file.write(line)


def place(path: str, target: Target, *, has_parents: bool) -> None:
    """Give a borrowed commit its name, and say that its history is not here."""
    folder = os.path.join(path, ".git")
    if has_parents:
        with open(os.path.join(folder, "shallow"), "a+", encoding="ascii") as file:
            file.seek(0)
            if target.commit not in file.read():
                file.write(f"{target.commit}\n")
    if target.ref:
        name = os.path.join(folder, target.local_ref)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        _write(folder, target.local_ref, f"{target.object}\n")
    # The other one's refs would be offered to servers as if their history were here.
    with open(os.path.join(folder, "config"), "a+", encoding="utf-8", errors="surrogateescape") as file:
        file.seek(0)
        if "alternateRefsCommand" not in file.read():
            file.write("[core]\n\talternateRefsCommand = true\n")


def _is_usable(path: str, url: str, git: Git) -> bool:
    try:
        if not stat.S_ISDIR(os.lstat(os.path.join(path, ".git")).st_mode):
            return False
    except FileNotFoundError:
        return False
    known = git.attempt("config", "--local", "--get", "remote.origin.url")
    return known is not None and known.decode(errors="surrogateescape").strip() == url


def _cleaned(git: Git) -> bool:
    """Return whether the repository is as if it were new, its objects apart."""
    if git.attempt("checkout", "--quiet", "--detach") is None and git.attempt("rev-parse", "HEAD") is not None:
        return False
    if git.attempt("clean", "-ffdx") is None:
        return False
    return git.attempt("rev-parse", "--verify", "HEAD") is None or git.attempt("reset", "--hard", "HEAD") is not None


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
