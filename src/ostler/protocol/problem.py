"""Problems: every error that crosses the wire, with its stable code, its cause and its fix (RFC 9457).

The table is the reference: the documentation's error page is generated from it, and a server that wants to refuse
something new adds a row here first.
"""

from typing import NamedTuple

import msgspec


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of every reply that is not a success."""

    code: str
    title: str
    status: int
    detail: str = ""
    fix: str = ""
    type: str = "about:blank"
    request_id: str = ""
    expected: int | None = None
    retry_after_ms: int | None = None


class ProblemKind(NamedTuple):
    """What is always true of a code."""

    status: int
    title: str
    fix: str


PROBLEMS: dict[str, ProblemKind] = {
    "body_malformed": ProblemKind(400, "The body is not what this call takes", "Correct the field that is named."),
    "request_malformed": ProblemKind(400, "This is not an HTTP request", "Check the address, above all http or https."),
    "request_too_slow": ProblemKind(408, "The request did not come to its end", "Send it again over a better line."),
    "request_head_too_large": ProblemKind(
        431, "The address or the headers are too large", "Send less: shorter queries, fewer cookies."
    ),
    "query_malformed": ProblemKind(400, "A query parameter is malformed", "Correct the parameter that is named."),
    "unauthenticated": ProblemKind(
        401, "The call carries no valid credentials", "Sign in, or run `ostler login`; a runner asks for a new token."
    ),
    "token_expired": ProblemKind(401, "The access token has expired", "Ask for a new one; agents do so by themselves."),
    "assertion_refused": ProblemKind(
        401,
        "The runner's signed assertion was refused",
        "Check the clock of the runner's machine; if its key was replaced, enrol it again with a new token.",
    ),
    "registration_refused": ProblemKind(
        401,
        "The registration token is unknown, expired, used up or revoked",
        "Create a new one: `ostler token create --pool POOL`.",
    ),
    "runner_revoked": ProblemKind(
        403, "This runner was revoked", "Enrol it again with a new token if it should return."
    ),
    "forbidden": ProblemKind(403, "You may not do this", "Ask an administrator for the permission that is named."),
    "csrf_refused": ProblemKind(403, "The form did not come from this site's pages", "Reload the page and try again."),
    "not_found": ProblemKind(404, "There is no such thing", "Check the id or the name; list what exists."),
    "method_not_allowed": ProblemKind(405, "This address does not take that method", "See /api/openapi.json."),
    "name_taken": ProblemKind(409, "The name is already in use", "Choose another name."),
    "name_length": ProblemKind(422, "The name has the wrong length", "Use 3 to 64 characters."),
    "name_characters": ProblemKind(
        422, "The name holds a character that is not allowed", "Use letters, digits, hyphen and underscore."
    ),
    "label_length": ProblemKind(422, "A label is too long", "Use at most 64 characters."),
    "label_characters": ProblemKind(422, "A label holds a character that is not allowed", "Use no spaces or commas."),
    "labels_too_many": ProblemKind(422, "There are too many labels", "Use at most 50."),
    "value_refused": ProblemKind(422, "A value is not allowed", "Correct the field that is named."),
    "stale_fence": ProblemKind(
        409, "This attempt is no longer the current one", "Stop working on it; its job was given up or runs elsewhere."
    ),
    "job_not_granted": ProblemKind(409, "The attempt was never given a start grant", "Ask for the grant first."),
    "job_ended": ProblemKind(409, "The job has already ended", "Nothing needs to be done."),
    "job_started": ProblemKind(409, "A started job is never delivered again", "Submit it anew if it should run again."),
    "run_ended": ProblemKind(409, "The run has already ended", "Nothing needs to be done."),
    "transition_refused": ProblemKind(409, "That cannot happen in the present state", "Look at the state and retry."),
    "log_offset": ProblemKind(
        409, "The log bytes do not continue what is stored", "Send from the offset in `expected`."
    ),
    "log_incomplete": ProblemKind(
        409, "The result came before the whole log", "Send the log from the offset in `expected`, then the result."
    ),
    "frame_damaged": ProblemKind(422, "A log frame failed its checks", "Send the frame again from the spool."),
    "idempotency_mismatch": ProblemKind(
        409, "The idempotency key was used for a different request", "Use a new key for a new request."
    ),
    "pool_hosted": ProblemKind(409, "The hosted pool is built in", "Disable it instead of deleting it."),
    "pool_in_use": ProblemKind(
        409, "The pool still has waiting or running jobs", "Cancel them or let them finish, then delete the pool."
    ),
    "repository_in_use": ProblemKind(
        409, "Runs of the repository have not ended", "Cancel them or let them end, then disconnect the repository."
    ),
    "repository_unreadable": ProblemKind(
        422, "The repository cannot be read", "Check its address and credentials: `ostler repository view NAME`."
    ),
    "workflow_refused": ProblemKind(
        422, "The workflow does not run so", "Correct what is named; `ostler validate` checks workflow files."
    ),
    "delivery_refused": ProblemKind(
        403, "The delivery is not signed as it must be", "Give the forge the secret of `ostler repository hook NAME`."
    ),
    "delivery_malformed": ProblemKind(
        400, "The delivery is not what a forge sends", "Send it as JSON, with the headers of the forge."
    ),
    "runner_name_taken": ProblemKind(
        409, "Another live runner of the pool has this name", "Give each runner of a pool its own name."
    ),
    "single_process": ProblemKind(
        409, "This pool admits one process and it is connected", "Allow multiple instances on the pool."
    ),
    "body_too_large": ProblemKind(413, "The body is larger than this call takes", "Send less in one call."),
    "artifact_exists": ProblemKind(
        409, "The run already has an artifact of this name", "Choose another name, or overwrite it."
    ),
    "cache_exists": ProblemKind(409, "There is an entry with this key", "Use it, or choose a key that says more."),
    "cache_refused": ProblemKind(403, "This job may not fill a cache", "Run it in a workflow of a repository."),
    "action_exists": ProblemKind(409, "This action is stored under this ref already", "Replace it with `replace=1`."),
    "upload_ended": ProblemKind(409, "The upload was finished or given up", "Begin a new one."),
    "upload_incomplete": ProblemKind(
        409, "Not all bytes are there", "Put those that are missing, from the offset in `expected`, then finish again."
    ),
    "digest_mismatch": ProblemKind(422, "The bytes are not those that were announced", "Put them again, then finish."),
    "quota_exceeded": ProblemKind(
        422, "There is no room for this within the limits", "Delete what nobody needs, or ask for a higher limit."
    ),
    "version_unsupported": ProblemKind(
        426, "This server does not speak the caller's protocol version", "Upgrade the older of the two."
    ),
    "too_many_requests": ProblemKind(429, "Too many requests", "Wait as long as `retry_after_ms` says."),
    "internal": ProblemKind(500, "The server failed to handle the call", "Report it with the request id."),
    "unavailable": ProblemKind(503, "The server cannot serve this now", "Retry; see /readyz for what it lacks."),
}

FENCED = ("stale_fence", "job_ended", "not_found", "runner_revoked")
"""With what every call that carries a fence may be refused."""

_LONGEST_DETAIL = 1000
"""A detail may quote what was sent, which may be as large as a body."""

LABELS = ("label_length", "label_characters", "labels_too_many")
"""With what every call that gives labels may be refused."""


def problem(
    code: str,
    detail: str = "",
    *,
    fix: str = "",
    expected: int | None = None,
    retry_after_ms: int | None = None,
    request_id: str = "",
) -> Problem:
    """Build the problem of a known code; an unknown code is a mistake of the program, hence ``KeyError``."""
    kind = PROBLEMS[code]
    return Problem(
        code=code,
        title=kind.title,
        status=kind.status,
        detail=detail if len(detail) <= _LONGEST_DETAIL else f"{detail[:_LONGEST_DETAIL]}…",
        fix=fix or kind.fix,
        type=f"/api#{code}",
        request_id=request_id,
        expected=expected,
        retry_after_ms=retry_after_ms,
    )
