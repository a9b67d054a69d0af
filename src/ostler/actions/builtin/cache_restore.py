"""Cache, only the restoring."""

from ostler.actions.builtin import caching
from ostler.actions.builtin.invocation import Invocation


def main(invocation: Invocation) -> None:
    """Restore."""
    caching.restore(invocation)
