"""The messages about artifacts, for the jobs that make and read them and for people's clients.

Artifacts, caches and stored actions come in the same way: their bytes are put, whole or in parts by offset and in any
order, and then finished with the size and the digest that they must have. Before that nobody can read them.
"""

from typing import Annotated

import msgspec

from ostler.protocol.v1.spec import Count

Digest = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
ArtifactName = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
"""None of the characters ``" : < > | * ? \\r \\n \\ /`` may be in it."""
ZIP = "application/zip"


class CreateArtifactRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Begin an artifact of the job's run. Its name is taken from now on; with ``overwrite``, from the one that has it.

    A job that asks again for what it has begun itself gets the same artifact.
    """

    name: ArtifactName
    retention_days: Annotated[int, msgspec.Meta(ge=1, le=3650)] | None = None
    """Nothing means the server's own; the server's longest bounds it."""
    mime_type: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] = ZIP
    overwrite: bool = False


class UploadReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where to put the bytes, and at most how many."""

    id: str
    limit_bytes: Count


class PartQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the bytes in the body belong. Putting bytes at the same offset again replaces what was put there."""

    offset: Count = 0


class PartReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What arrived."""

    offset: Count
    size: Count
    digest: Digest


class FinishUploadRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the whole must be: the parts must follow each other without gaps, and have this digest."""

    size: Count
    digest: Digest


class ArtifactView(msgspec.Struct, frozen=True, omit_defaults=True):
    """An artifact that can be read. Of those of one name in a run's attempts, the highest number is the newest."""

    id: str
    number: Count
    name: str
    size: Count
    digest: str
    mime_type: str
    run_id: str
    job_id: str
    created_at: int
    expires_at: int


class ArtifactsQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which artifacts of the run; without a name, all of them."""

    name: Annotated[str, msgspec.Meta(max_length=255)] = ""


class ArtifactsReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """One artifact of each name, the newest, in the order of their names."""

    artifacts: list[ArtifactView] = []
