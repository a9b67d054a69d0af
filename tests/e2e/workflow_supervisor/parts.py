"""Jobs of workflows under real supervisors: written as steps of a workflow file, followed to their end."""

import asyncio
import base64
import os
import textwrap
from pathlib import Path
from typing import NamedTuple

import msgspec

from ostler.agent.local_supervisors import LocalSupervisors
from ostler.agent.supervision import ActionServices, JobOrder, JobResult, Limits, StepEvent, Supervisor
from ostler.protocol.v1.program import JobProgram, Step
from ostler.workflow.check import check_workflow
from tests.e2e.supervisor.parts import JOB, end, log_of, supervisors

GITHUB = {
    "event_name": "push",
    "event": {"ref": "refs/heads/main"},
    "repository": "acme/app",
    "repository_owner": "acme",
    "sha": "a" * 40,
    "ref": "refs/heads/main",
    "ref_name": "main",
    "ref_type": "branch",
    "run_id": "7",
    "run_number": "3",
    "run_attempt": "1",
    "actor": "ann",
    "workflow": "CI",
}


class Ran(NamedTuple):
    """What became of a job."""

    result: JobResult
    log: str
    events: list[StepEvent]

    @property
    def steps(self) -> dict[str, str]:
        """How each step of the list ended, by its name."""
        return {event.name: event.conclusion or "" for event in self.events if event.kind == "step_finished"}

    def step(self, name: str) -> StepEvent:
        return next(event for event in self.events if event.kind == "step_finished" and event.name == name)

    @property
    def said(self) -> list[str]:
        """The lines of the log that are output: no folded headers, no marks."""
        lines: list[str] = []
        folded = False
        for line in self.log.splitlines():
            if line.startswith("##[group]Run "):
                folded = True
            if not folded and not line.startswith(("##[", "Runner: ", "Job: ")):
                lines.append(line)
            if line == "##[endgroup]":
                folded = False
        return lines


def steps(written: str) -> list[Step]:
    """Return steps as they stand in a file."""
    text = (
        f"on: push\njobs:\n  job:\n    runs-on: any\n    steps:\n{textwrap.indent(textwrap.dedent(written), '      ')}"
    )
    checked = check_workflow("test.yml", text)
    assert checked.workflow is not None, checked.findings
    return list(checked.workflow.jobs[0].steps)


def program(written: str, **more: object) -> JobProgram:
    """Return the program of a job with these steps."""
    given: dict[str, object] = {"job_id": "job", "github": GITHUB, **more}
    return msgspec.convert({"steps": msgspec.to_builtins(steps(written)), **given}, JobProgram)


def order(
    job: JobProgram,
    *,
    secrets: dict[str, str] | None = None,
    services: ActionServices | None = None,
    env: dict[str, str] | None = None,
    timeout_ms: int = 0,
    graces_ms: tuple[int, int] = (7_500, 2_500),
    limits: Limits | None = None,
    job_id: str = JOB,
) -> JobOrder:
    given = secrets or {}
    return JobOrder(
        job_id=job_id,
        fence=1,
        program=job,
        program_secrets=given,
        secrets=tuple(given.values()),
        services=services or ActionServices(runner_name="bench"),
        env={"PATH": os.environ["PATH"], **(env or {})},
        timeout_ms=timeout_ms,
        interrupt_grace_ms=graces_ms[0],
        terminate_grace_ms=graces_ms[1],
        limits=limits or Limits(),
    )


def ran(root: Path, job: JobOrder, files: dict[str, str] | None = None) -> Ran:
    """Run a job to its end. ``files`` stand in the workspace when it begins."""
    return asyncio.run(_ran(root, job, files or {}))


async def _ran(root: Path, job: JobOrder, files: dict[str, str]) -> Ran:
    async with supervisors(root) as owner:
        attempt = await launched(owner, root, job, files)
        result = await end(attempt)
        return Ran(result, log_of(attempt).decode("utf-8", "replace"), attempt.events(0))


async def launched(owner: LocalSupervisors, root: Path, job: JobOrder, files: dict[str, str]) -> Supervisor:
    """Launch a job whose first step writes the files: its workspace is its own, and empty."""
    if files and job.program is not None:
        script = "\n".join(  # encoded, because a script is a template and these files are not
            f"mkdir -p {Path(name).parent}; echo {base64.b64encode(text.encode()).decode()} | base64 -d >{name}"
            for name, text in files.items()
        )
        first = Step(name="files", run=script)
        job = msgspec.structs.replace(
            job, program=msgspec.structs.replace(job.program, steps=[first, *job.program.steps])
        )
    return await owner.launch(job)
