"""Artifacts: made and read by jobs, read and deleted by people."""

from collections.abc import Mapping

from ostler.blobs import Blobs
from ostler.domain.storage import StorageRules
from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.protocol.v1.artifact_messages import (
    ZIP,
    ArtifactsReply,
    ArtifactView,
    CreateArtifactRequest,
    FinishUploadRequest,
    PartReply,
    UploadReply,
)
from ostler.protocol.v1.artifact_table import (
    CREATE_ARTIFACT,
    DELETE_ARTIFACT,
    DELETE_JOB_ARTIFACT,
    FINISH_ARTIFACT,
    GET_ARTIFACT,
    LIST_ARTIFACTS,
    LIST_JOB_ARTIFACTS,
    PUT_ARTIFACT,
    READ_ARTIFACT,
    READ_JOB_ARTIFACT,
)
from ostler.server.body import BodyStream
from ostler.server.call import Call, Handlers, Streaming, accepted
from ostler.server.downloads import BYTES, Stored, download
from ostler.server.uploads import Upload, Uploads
from ostler.store import artifacts
from ostler.store.artifacts import Artifact
from ostler.store.database import Database


class ArtifactCalls:
    """See the module."""

    def __init__(
        self, database: Database, blobs: Blobs, uploads: Uploads, effects: Effects, rules: StorageRules
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._uploads = uploads
        self._effects = effects
        self._rules = rules

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            CREATE_ARTIFACT: self.create,
            PUT_ARTIFACT: self.put,
            FINISH_ARTIFACT: self.finish,
            LIST_JOB_ARTIFACTS: self.list_for_job,
            READ_JOB_ARTIFACT: self.read_for_job,
            DELETE_JOB_ARTIFACT: self.delete_for_job,
            LIST_ARTIFACTS: self.list_for_people,
            GET_ARTIFACT: self.get,
            READ_ARTIFACT: self.read,
            DELETE_ARTIFACT: self.delete,
        }

    async def create(self, call: Call[CreateArtifactRequest]) -> UploadReply:
        """Begin an artifact."""
        drawn, now = self._effects.ids.new("art"), self._effects.clock.now()
        created = await self._database.run(artifacts.create, call.job, drawn, call.body, self._rules, now)
        return UploadReply(accepted(created), self._rules.artifact_bytes)

    async def put(self, call: Call[BodyStream]) -> PartReply:
        """Store bytes of an artifact."""
        return await self._uploads.receive(self._upload(call), call.query.offset, call.body)

    async def finish(self, call: Call[FinishUploadRequest]) -> ArtifactView:
        """Make an artifact readable."""
        artifact_id, now = call.path["artifact_id"], self._effects.clock.now()
        found = await self._uploads.finish(
            self._upload(call), call.body, lambda connection: artifacts.find(connection, artifact_id, now)
        )
        return found.view

    async def list_for_job(self, call: Call[Nothing]) -> ArtifactsReply:
        """List what the jobs of the run have left."""
        now = self._effects.clock.now()
        found = await self._database.read(artifacts.list_of_run, call.job.first_run_id, call.query.name, now)
        return ArtifactsReply(found)

    async def read_for_job(self, call: Call[Nothing]) -> Streaming:
        """Send an artifact of the job's run."""
        found = await self._find(call.path["artifact_id"], call.job.first_run_id)
        return await self._sent(found, call.headers, BYTES)

    async def delete_for_job(self, call: Call[Nothing]) -> None:
        """Delete an artifact of the job's run."""
        now = self._effects.clock.now()
        accepted(await self._database.run(artifacts.delete, call.path["artifact_id"], now, job=call.job))

    async def list_for_people(self, call: Call[Nothing]) -> ArtifactsReply:
        """List the artifacts of a run."""
        return ArtifactsReply(await self.of_run(call.path["run_id"], call.query.name))

    async def of_run(self, run_id: str, name: str = "") -> list[ArtifactView]:
        """Return the artifacts of a run, for pages too."""
        now = self._effects.clock.now()
        return accepted(await self._database.read(artifacts.list_for_people, run_id, name, now))

    async def get(self, call: Call[Nothing]) -> ArtifactView:
        """Say what is known about an artifact."""
        return (await self._find(call.path["artifact_id"])).view

    async def read(self, call: Call[Nothing]) -> Streaming:
        """Send an artifact."""
        return await self._sent(await self._find(call.path["artifact_id"]), call.headers, BYTES)

    async def shown(self, artifact_id: str, headers: Mapping[str, str]) -> Streaming:
        """Send an artifact to a browser, as what it is."""
        found = await self._find(artifact_id)
        return await self._sent(found, headers, found.view.mime_type if found.view.mime_type == ZIP else BYTES)

    async def delete(self, call: Call[Nothing]) -> None:
        """Delete an artifact."""
        now = self._effects.clock.now()
        accepted(await self._database.run(artifacts.delete, call.path["artifact_id"], now))

    def _upload(self, call: Call[BodyStream] | Call[FinishUploadRequest]) -> Upload:
        return Upload(artifacts.UPLOADS, call.path["artifact_id"], call.job, artifacts.limits(self._rules))

    async def _find(self, artifact_id: str, first_run_id: str = "") -> Artifact:
        now = self._effects.clock.now()
        return accepted(await self._database.read(artifacts.find, artifact_id, now, first_run_id=first_run_id))

    async def _sent(self, artifact: Artifact, headers: Mapping[str, str], media_type: str) -> Streaming:
        view = artifact.view
        name = f"{view.name}.zip" if view.mime_type == ZIP and not view.name.endswith(".zip") else view.name
        return await download(self._blobs, Stored(artifact.blob_key, view.size, view.digest, name, media_type), headers)
