"""What can happen to a run. Each may be told more than once: a repetition changes nothing."""

from typing import Literal, TypeAlias

import msgspec

JobResult: TypeAlias = Literal["success", "failure", "cancelled"]
"""What a runner says of a job. Whether that counts is decided by the workflow."""


class JobStarted(msgspec.Struct, frozen=True, tag="job_started"):
    """A runner has begun with a job."""

    node: str


class JobEnded(msgspec.Struct, frozen=True, omit_defaults=True, tag="job_ended"):
    """A job has ended, or could not be started at all; ``note`` says what people should know of it."""

    node: str
    result: JobResult
    outputs: dict[str, str] = {}
    note: str = ""
    cause: str = ""
    """One of the causes of ``domain.cause``, of a failure."""


class CancelAsked(msgspec.Struct, frozen=True, omit_defaults=True, tag="cancel_asked"):
    """The run is to end. Jobs whose condition still holds go on, unless it is forced."""

    reason: str = ""
    force: bool = False


class GroupGranted(msgspec.Struct, frozen=True, tag="group_granted"):
    """A holder has its concurrency group for itself.

    Holders are named as the effect names them: the run itself by nothing, a node by its id, and a called workflow by
    the id of its call with a slash.
    """

    holder: str


class GroupDenied(msgspec.Struct, frozen=True, omit_defaults=True, tag="group_denied"):
    """A holder that waited for its concurrency group was replaced by a newer one."""

    holder: str
    reason: str = ""


class HolderCancelled(msgspec.Struct, frozen=True, omit_defaults=True, tag="holder_cancelled"):
    """A newer one in the same concurrency group wants this holder, which runs, to be cancelled."""

    holder: str
    reason: str = ""


class Approved(msgspec.Struct, frozen=True, tag="approved"):
    """Somebody has approved the run."""


Happening: TypeAlias = JobStarted | JobEnded | CancelAsked | GroupGranted | GroupDenied | HolderCancelled | Approved
