"""The identities of the model's nouns, kept apart by type so that a run is never passed where a job is meant."""

from typing import NewType

OrganizationId = NewType("OrganizationId", str)
PoolId = NewType("PoolId", str)
RunnerId = NewType("RunnerId", str)
RunId = NewType("RunId", str)
JobId = NewType("JobId", str)
UserId = NewType("UserId", str)
TokenId = NewType("TokenId", str)

Fence = NewType("Fence", int)
"""The number of an attempt. It only grows; a write that carries an older one changes nothing."""
