"""Cache, only the saving."""

from ostler.actions.builtin import caching
from ostler.actions.builtin.invocation import Invocation


def main(invocation: Invocation) -> None:
    """Save."""
    caching.save(invocation, invocation.required("key"))
