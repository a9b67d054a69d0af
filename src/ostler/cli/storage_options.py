"""The options that say how much jobs may keep, and for how long; shared by the commands that serve."""

from collections.abc import Callable
from typing import Any, TypedDict, TypeVar

import click

from ostler.cli.options import SIZE
from ostler.domain.storage import StorageRules

F = TypeVar("F", bound=Callable[..., Any])

_DEFAULT = StorageRules()
_DAYS = click.IntRange(1, 3650)


class StorageOptions(TypedDict):
    """What these options give."""

    artifact_days: int
    longest_artifact_days: int
    artifact_limit: int
    artifact_quota: int
    cache_days: int
    cache_quota: int


_OPTIONS = (
    click.option(
        "--artifact-days",
        type=_DAYS,
        default=_DEFAULT.artifact_days,
        envvar="OSTLER_ARTIFACT_DAYS",
        show_default=True,
        help="How long an artifact is kept whose job does not say.",
    ),
    click.option(
        "--longest-artifact-days",
        type=_DAYS,
        default=_DEFAULT.longest_artifact_days,
        envvar="OSTLER_LONGEST_ARTIFACT_DAYS",
        show_default=True,
        help="How long a job may have an artifact kept.",
    ),
    click.option(
        "--artifact-limit",
        type=SIZE,
        default=_DEFAULT.artifact_bytes,
        envvar="OSTLER_ARTIFACT_LIMIT",
        show_default="10GiB",
        help="How large an artifact may be.",
    ),
    click.option(
        "--artifact-quota",
        type=SIZE,
        default=_DEFAULT.artifacts_bytes,
        envvar="OSTLER_ARTIFACT_QUOTA",
        show_default="50GiB",
        help="How large all artifacts of a repository may be.",
    ),
    click.option(
        "--cache-days",
        type=_DAYS,
        default=_DEFAULT.cache_days,
        envvar="OSTLER_CACHE_DAYS",
        show_default=True,
        help="How long a cache entry is kept that nobody reads.",
    ),
    click.option(
        "--cache-quota",
        type=SIZE,
        default=_DEFAULT.caches_bytes,
        envvar="OSTLER_CACHE_QUOTA",
        show_default="10GiB",
        help="How large all cache entries of a repository may be.",
    ),
)


def storage_options(command: F) -> F:
    """Add all of them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def storage_rules(given: StorageOptions) -> StorageRules:
    """Return the rules that they say."""
    return StorageRules(
        artifact_days=min(given["artifact_days"], given["longest_artifact_days"]),
        longest_artifact_days=given["longest_artifact_days"],
        artifact_bytes=given["artifact_limit"],
        artifacts_bytes=given["artifact_quota"],
        cache_days=given["cache_days"],
        caches_bytes=given["cache_quota"],
    )
