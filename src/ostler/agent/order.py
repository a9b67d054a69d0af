"""Between the wire and the supervisors: a job's specification becomes an order, what happened becomes reports.

The two sides are kept apart on purpose: the wire may only grow, the order is told once to a process of this machine.
"""

from collections.abc import Mapping
from typing import Literal

from ostler.agent.journal import Entry
from ostler.agent.supervision import ActionServices, JobOrder, JobResult, Limits, Network, StepEvent, StepOrder
from ostler.domain.cause import Cause, Failure
from ostler.domain.step import StepState
from ostler.protocol.v1.runner_messages import FinishRequest, StepReport
from ostler.protocol.v1.spec import JobSpec, StepSpec


def job_order(
    entry: Entry,
    spec: JobSpec,
    environment: Mapping[str, str],
    isolation: str,
    network: Network,
    services: ActionServices,
) -> JobOrder:
    """Return the order for an attempt. ``environment`` is what the runner adds; the job's own values win.

    ``services`` are for the actions of a program; their token is masked like a secret. ``network`` is what the runner
    allows; of it and of the job's own wish the stricter wins. A program's secrets are no environment: its steps get
    those that they name.
    """
    program = spec.program
    return JobOrder(
        job_id=entry.job_id,
        fence=entry.fence,
        steps=tuple(_step(step) for step in spec.steps),
        program=program,
        program_secrets=spec.secrets if program else {},
        services=services if program else ActionServices(),
        env={**environment, **spec.env, **({} if program else spec.secrets), **_for_artifacts(spec, services)},
        secrets=_masked(spec, services.token if program or spec.job_token else ""),
        timeout_ms=spec.timeout_ms or 0,
        limits=Limits(
            memory_bytes=spec.limits.memory_bytes or 0,
            cpu_millis=round((spec.limits.cpus or 0) * 1000),
            pids=spec.limits.pids or 0,
            disk_bytes=spec.limits.disk_bytes or 0,
            log_bytes=spec.limits.log_bytes or 0,
        ),
        isolation=isolation,
        network="none" if "none" in (spec.network, network) else "full",
    )


def step_report(event: StepEvent, now_micros: int) -> StepReport:
    """Return the report of an event; its age is measured here, by the clock that stamped it."""
    finished = event.kind == "step_finished"
    return StepReport(
        sequence=event.seq,
        step=event.step,
        name=event.name,
        state=_STATES[event.conclusion] if finished and event.conclusion else StepState.RUNNING,
        age_ms=max(0, (now_micros - event.at_micros) // 1000),
        duration_ms=event.duration_ms if finished else None,
        exit_code=event.exit_code,
        signal=event.signal,
        first_line=event.first_line or None,
        last_line=event.last_line or None,
        cpu_ms=event.usage.cpu_micros // 1000 if finished else None,
        max_memory_bytes=event.usage.memory_peak_bytes or None,
        outcome=_STATES[event.outcome] if event.outcome else None,
        annotations=list(event.annotations),
        annotations_left_out=event.annotations_left_out,
        summary=event.summary,
    )


def finish_request(entry: Entry, result: JobResult) -> FinishRequest:
    """Return the result as the server takes it."""
    conclusion = _CONCLUSIONS[result.conclusion]
    return FinishRequest(
        job_id=entry.job_id,
        fence=entry.fence,
        key=entry.finish_key,
        conclusion=conclusion,
        log_bytes=result.log_bytes,
        log_lines=result.log_lines,
        failure=None if conclusion == "succeeded" else _failure(result),
        exit_code=result.exit_code,
        duration_ms=result.duration_ms,
        outputs=result.outputs,
        environment_url=result.environment_url,
    )


def infrastructure(detail: str, evidence: str) -> JobResult:
    """Return the result of an attempt that failed for a reason of ours."""
    return JobResult(conclusion="failed", cause=Cause.INFRASTRUCTURE, detail=detail, evidence=evidence)


def _for_artifacts(spec: JobSpec, services: ActionServices) -> dict[str, str]:
    """Return what lets the steps of a plain job call the server, if the job asks for it."""
    if spec.program or not (spec.job_token and services.token):
        return {}
    return {"OSTLER_URL": services.server, "OSTLER_JOB_TOKEN": services.token}


def _masked(spec: JobSpec, token: str) -> tuple[str, ...]:
    return tuple(value for value in (*spec.secrets.values(), token) if value)


def _step(step: StepSpec) -> StepOrder:
    return StepOrder(
        name=step.name,
        argv=tuple(step.argv or ()),
        script=step.script or "",
        shell=step.shell,
        env=dict(step.env),
        working_directory=step.working_directory,
        timeout_ms=step.timeout_ms or 0,
        always=step.always,
    )


def _failure(result: JobResult) -> Failure:
    known = result.cause in {cause.value for cause in Cause}
    cause = Cause(result.cause) if known else _CAUSES[result.conclusion]
    return Failure(cause, result.detail, result.evidence)


_CONCLUSIONS: dict[str, Literal["succeeded", "failed", "cancelled"]] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "timed_out": "failed",
    "cancelled": "cancelled",
}
_CAUSES = {"failed": Cause.STEP_FAILED, "timed_out": Cause.TIMED_OUT, "cancelled": Cause.CANCELLED}
_STATES = {
    "succeeded": StepState.SUCCEEDED,
    "failed": StepState.FAILED,
    "timed_out": StepState.FAILED,
    "cancelled": StepState.CANCELLED,
    "skipped": StepState.SKIPPED,
}
