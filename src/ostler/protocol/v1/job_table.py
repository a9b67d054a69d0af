"""What a job that is under way may call, with the token that came with its start grant.

A token is worth nothing once its attempt has ended, and opens nothing but these rows. The whole table, these rows
included, is ``ostler.protocol.v1.table.ENDPOINTS``.
"""

from ostler.protocol.endpoint import Auth, Endpoint, Nothing
from ostler.protocol.v1 import job_messages as job

JOB_IDENTITY = Endpoint(
    name="job_identity",
    method="GET",
    path="/job/v1/me",
    summary="Read which job and run the token is for",
    request=Nothing,
    reply=job.JobIdentity,
    auth=Auth.JOB,
)
