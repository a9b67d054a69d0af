"""Deleting and taking over a tree that somebody hostile made: by descriptor, never by path, never through a link.

Instead of descending, every directory found is first moved to the top: two descriptors and no recursion are enough
for any depth, and there is no path in which a component could be swapped for a link between looking and deleting.
"""

from __future__ import annotations

import errno
import os
import stat

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ROUNDS_WITHOUT_END = 10_000
_CHANGED_UNDERNEATH = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR)


def remove(parent: int, name: str) -> None:
    """Delete an entry of a directory, whatever it is; nothing there is fine.

    Raises ``OSError`` for what cannot be deleted: another user's files, a mount point.
    """
    for _ in range(_ROUNDS_WITHOUT_END):
        try:
            if not _unlink(parent, name):
                _empty(parent, name)
                os.rmdir(name, dir_fd=parent)
        except FileNotFoundError:
            return
        except OSError as reason:
            if reason.errno not in _CHANGED_UNDERNEATH:
                raise
        else:
            return
    raise OSError(errno.EBUSY, "somebody keeps filling it", name)


def take_over(parent: int, name: str) -> None:
    """Make a tree ours that other users left files in: only root can; for others this only finds nothing to do."""
    me, group = os.geteuid(), os.getegid()
    if me != 0:
        return
    os.chown(name, me, group, dir_fd=parent, follow_symlinks=False)
    for _, directories, files, descriptor in os.fwalk(name, dir_fd=parent, follow_symlinks=False):
        for entry in (*directories, *files):
            status = os.stat(entry, dir_fd=descriptor, follow_symlinks=False)
            if status.st_uid != me:
                os.chown(entry, me, group, dir_fd=descriptor, follow_symlinks=False)


def _empty(parent: int, name: str) -> None:
    """Empty a directory, once through; what somebody adds meanwhile is found by the next round of ``remove``."""
    top = _open(parent, name)
    moved = 0
    try:
        while True:
            with os.scandir(top) as entries:
                names = [entry.name for entry, _ in zip(entries, range(4096), strict=False)]
            if not names:
                return
            for entry in names:
                if not _unlink(top, entry):
                    moved = _flatten(top, entry, moved)
                    os.rmdir(entry, dir_fd=top)
    finally:
        os.close(top)


def _flatten(top: int, name: str, moved: int) -> int:
    """Delete a directory's files and move its directories to the top."""
    descriptor = _open(top, name)
    try:
        while True:
            with os.scandir(descriptor) as entries:
                names = [entry.name for entry, _ in zip(entries, range(4096), strict=False)]
            if not names:
                return moved
            for entry in names:
                if _unlink(descriptor, entry):
                    continue
                moved += 1
                # Moving a directory rewrites its "..", so it must be writable itself.
                os.close(_open(descriptor, entry))
                os.rename(entry, f".ostler-{os.getpid()}-{moved}", src_dir_fd=descriptor, dst_dir_fd=top)
    finally:
        os.close(descriptor)


def _unlink(parent: int, name: str) -> bool:
    """Delete what is no directory; say whether it was."""
    try:
        os.unlink(name, dir_fd=parent)
    except IsADirectoryError:
        return False
    except PermissionError:
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            return False  # how macOS says the same
        raise
    return True


def _open(parent: int, name: str) -> int:
    """Open a directory so that its entries can be deleted, even if its mode forbids that."""
    try:
        descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
    except PermissionError:
        _unlock(parent, name)
        descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        if os.fstat(descriptor).st_mode & 0o700 != 0o700:
            os.fchmod(descriptor, 0o700)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _unlock(parent: int, name: str) -> None:
    """Give a directory the right to be read, and nothing that was put in its place meanwhile."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)  # which Linux cannot do
        return
    # Through a descriptor that needs no right and names just this inode.
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        os.chmod(f"/proc/self/fd/{handle}", 0o700)
    except FileNotFoundError as reason:
        raise PermissionError(errno.EACCES, "without /proc a closed directory stays closed", name) from reason
    finally:
        os.close(handle)
