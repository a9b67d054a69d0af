"""Cache: restore at the step, save when the job has succeeded, unless exactly that was restored."""

from ostler.actions.builtin import caching
from ostler.actions.builtin.invocation import Invocation

_KEY, _MATCHED = "CACHE_KEY", "CACHE_RESULT"


def main(invocation: Invocation) -> None:
    """Restore."""
    invocation.save_state(_KEY, invocation.text("key"))
    if invocation.flag("save-always"):
        invocation.warn(
            "save-always has no effect, as in the published action: use actions/cache/save with `if: always()`"
        )
    restored = caching.restore(invocation)
    invocation.save_state(_MATCHED, restored.matched)


def post(invocation: Invocation) -> None:
    """Save."""
    key, matched = invocation.state(_KEY), invocation.state(_MATCHED)
    if not key:
        invocation.warn("Key is not specified.")
        return
    if matched and caching.is_same(key, matched):
        invocation.say(f"Cache hit occurred on the primary key {key}, not saving cache.")
        return
    caching.save(invocation, key)
