"""The parts of the endpoint table that have files of their own, by the noun that they are about."""

from types import ModuleType
from typing import Final

from ostler.protocol.v1 import (
    action_table,
    artifact_table,
    cache_table,
    job_table,
    repository_table,
    simple_table,
    workflow_table,
)

NOUN_TABLES: Final[tuple[ModuleType, ...]] = (
    action_table,
    artifact_table,
    cache_table,
    job_table,
    repository_table,
    simple_table,
    workflow_table,
)
