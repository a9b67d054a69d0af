"""What the three cache actions have in common: keys, finding, restoring and saving.

A cache that cannot be read or written is a warning: the job does without.
"""

import os
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from ostler.actions.builtin import cache_archive
from ostler.actions.builtin.invocation import ActionFailed, Invocation
from ostler.actions.builtin.vault import VaultError, open_vault
from ostler.actions.errors import UnsafeTree
from ostler.actions.globbing import Options, parse, search, search_paths

_LONGEST_KEY, _MOST_KEYS = 512, 10


class Restored(NamedTuple):
    """What restoring came to."""

    key: str
    matched: str
    """The key of what was found; nothing if nothing was."""

    @property
    def exactly(self) -> bool:
        return is_same(self.key, self.matched)


def is_same(key: str, other: str) -> bool:
    """Keys are the same whatever their case."""
    return key.casefold() == other.casefold()


def restore(invocation: Invocation) -> Restored:
    """Find and restore what the inputs ask for, and say by outputs what was found."""
    key = invocation.required("key")
    keys = (key, *invocation.lines("restore-keys"))
    _check(keys)
    written = invocation.required("path")
    invocation.output("cache-primary-key", key)
    matched = _restore(invocation, keys, written)
    restored = Restored(key, matched)
    if not matched:
        if invocation.flag("fail-on-cache-miss"):
            raise ActionFailed(f"Failed to restore cache entry. Exiting as fail-on-cache-miss is set. Input key: {key}")
        invocation.say(f"Cache not found for input keys: {', '.join(keys)}")
        return restored
    invocation.output("cache-matched-key", matched)
    invocation.output("cache-hit", "true" if restored.exactly else "false")
    return restored


def save(invocation: Invocation, key: str) -> None:
    """Keep what the paths name under a key that has nothing yet."""
    _check((key,))
    lines, workspace = invocation.lines("path"), invocation.workspace
    patterns = parse("\n".join(lines), workspace, invocation.home, descendants=False)
    paths = list(search(patterns, Options(follow_links=False)))
    if not paths:
        invocation.warn(
            "Path Validation Error: Path(s) specified in the action for caching do(es) not exist, "
            "hence no cache is being saved."
        )
        return
    os.makedirs(invocation.temporary, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=invocation.temporary, prefix="cache-") as folder:
        archive = os.path.join(folder, "cache.tar.zst")
        cache_archive.pack(_outermost(paths), workspace, archive)
        try:
            kept = open_vault(invocation).store_cache(key, cache_archive.version(lines), archive)
        except VaultError as failure:
            invocation.warn(f"Failed to save: {failure}")
            return
        size = os.path.getsize(archive)
    if kept:
        invocation.say(f"Cache saved with key: {key} ({size} bytes)")
    else:
        invocation.say(f"Failed to save: there is a cache with key {key} already, and entries are never changed.")


def _restore(invocation: Invocation, keys: Sequence[str], written: str) -> str:
    """Return the key of what was found and, unless only a look was asked for, restored."""
    try:
        vault = open_vault(invocation)
        entry = vault.find_cache(keys[0], keys[1:], cache_archive.version(invocation.lines("path")))
        if entry is None:
            return ""
        if invocation.flag("lookup-only"):
            invocation.say(f"Cache found and can be restored from key: {entry.key}")
            return entry.key
        invocation.say(f"Cache Size: {entry.size} B")
        os.makedirs(invocation.temporary, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=invocation.temporary, prefix="cache-") as folder:
            archive = os.path.join(folder, "cache.tar.zst")
            vault.fetch_cache(entry, archive)
            roots = search_paths(parse(written, invocation.workspace, invocation.home, descendants=False))
            cache_archive.unpack(archive, invocation.workspace, roots)
    except (VaultError, UnsafeTree, OSError) as failure:
        invocation.warn(f"Failed to restore: {failure}")
        return ""
    invocation.say(f"Cache restored from key: {entry.key}")
    return entry.key


def _check(keys: Sequence[str]) -> None:
    if len(keys) > _MOST_KEYS:
        raise ActionFailed("Key Validation Error: Keys are limited to a maximum of 10.")
    for key in keys:
        if len(key) > _LONGEST_KEY:
            raise ActionFailed(f"Key Validation Error: {key[:100]}… cannot be larger than {_LONGEST_KEY} characters.")
        if "," in key:
            raise ActionFailed(f"Key Validation Error: {key} cannot contain commas.")


def _outermost(paths: Sequence[str]) -> list[str]:
    """Return the paths without those that lie in another one of them."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda each: each.split(os.sep)):
        if not kept or not path.startswith(kept[-1].rstrip(os.sep) + os.sep):
            kept.append(path)
    return kept
