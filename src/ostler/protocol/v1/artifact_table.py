"""The calls about artifacts. The whole table, these rows included, is ``ostler.protocol.v1.table.ENDPOINTS``."""

from ostler.protocol.endpoint import GIB, Auth, Binary, Endpoint, Nothing
from ostler.protocol.v1 import artifact_messages as artifacts

UPLOAD = ("not_found", "upload_ended", "quota_exceeded")
"""With what a call that puts bytes may be refused."""
FINISH = ("not_found", "upload_ended", "upload_incomplete", "digest_mismatch", "quota_exceeded")

CREATE_ARTIFACT = Endpoint(
    name="create_artifact",
    method="POST",
    path="/job/v1/artifacts",
    summary="Begin an artifact",
    request=artifacts.CreateArtifactRequest,
    reply=artifacts.UploadReply,
    auth=Auth.JOB,
    status=201,
    problems=("artifact_exists", "value_refused", "quota_exceeded"),
)
PUT_ARTIFACT = Endpoint(
    name="put_artifact",
    method="PUT",
    path="/job/v1/artifacts/{artifact_id}/content",
    summary="Put bytes of an artifact at an offset",
    request=Binary,
    reply=artifacts.PartReply,
    query=artifacts.PartQuery,
    auth=Auth.JOB,
    streamed=True,
    body_limit=64 * GIB,
    problems=UPLOAD,
)
FINISH_ARTIFACT = Endpoint(
    name="finish_artifact",
    method="POST",
    path="/job/v1/artifacts/{artifact_id}/finish",
    summary="Finish an artifact: from now on it can be read and is never changed",
    request=artifacts.FinishUploadRequest,
    reply=artifacts.ArtifactView,
    auth=Auth.JOB,
    problems=FINISH,
)
LIST_JOB_ARTIFACTS = Endpoint(
    name="list_job_artifacts",
    method="GET",
    path="/job/v1/artifacts",
    summary="List the artifacts of all jobs of the run",
    request=Nothing,
    reply=artifacts.ArtifactsReply,
    query=artifacts.ArtifactsQuery,
    auth=Auth.JOB,
)
READ_JOB_ARTIFACT = Endpoint(
    name="read_job_artifact",
    method="GET",
    path="/job/v1/artifacts/{artifact_id}/content",
    summary="Download an artifact of the run; takes a Range of bytes",
    request=Nothing,
    reply=Nothing,
    auth=Auth.JOB,
    stream="application/octet-stream",
    problems=("not_found",),
)
DELETE_JOB_ARTIFACT = Endpoint(
    name="delete_job_artifact",
    method="DELETE",
    path="/job/v1/artifacts/{artifact_id}",
    summary="Delete an artifact of the run",
    request=Nothing,
    reply=Nothing,
    auth=Auth.JOB,
    status=204,
    problems=("not_found",),
)
LIST_ARTIFACTS = Endpoint(
    name="list_artifacts",
    method="GET",
    path="/api/v1/runs/{run_id}/artifacts",
    summary="List the artifacts of a run",
    request=Nothing,
    reply=artifacts.ArtifactsReply,
    query=artifacts.ArtifactsQuery,
    problems=("not_found",),
)
GET_ARTIFACT = Endpoint(
    name="get_artifact",
    method="GET",
    path="/api/v1/artifacts/{artifact_id}",
    summary="Read what is known about an artifact",
    request=Nothing,
    reply=artifacts.ArtifactView,
    problems=("not_found",),
)
READ_ARTIFACT = Endpoint(
    name="read_artifact",
    method="GET",
    path="/api/v1/artifacts/{artifact_id}/content",
    summary="Download an artifact; takes a Range of bytes",
    request=Nothing,
    reply=Nothing,
    stream="application/octet-stream",
    problems=("not_found",),
)
DELETE_ARTIFACT = Endpoint(
    name="delete_artifact",
    method="DELETE",
    path="/api/v1/artifacts/{artifact_id}",
    summary="Delete an artifact",
    request=Nothing,
    reply=Nothing,
    auth=Auth.OPERATOR,
    status=204,
    problems=("not_found",),
)
