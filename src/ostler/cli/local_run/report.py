"""What a run comes to, in words: what failed first, then remarks, summaries and what it leaves behind."""

import re

from ostler.cli.local_run.happenings import Ending, JobFinished, RunStarted, StepFinished
from ostler.cli.local_run.picture import JobPicture, Picture, StepPicture
from ostler.cli.local_run.style import Style, duration
from ostler.protocol.v1.runner_messages import Annotation

_ORDER: tuple[Ending, ...] = ("failure", "cancelled", "success", "skipped")
_WORDS: dict[Ending, str] = {
    "failure": "failed",
    "cancelled": "cancelled",
    "success": "succeeded",
    "skipped": "skipped",
}


_EXIT = re.compile(r"Process completed with exit code \d+\.")
"""A remark that repeats what is told of its step anyway."""


def headline(started: RunStarted) -> str:
    """Return what runs, and why."""
    at = f" at {started.sha[:10]}" if started.sha.strip("0") else ""
    return f"{started.name} ({started.workflow}) on {started.trigger} of {started.ref}{at}"


def step_end(ended: StepFinished, style: Style) -> str:
    """Return how a step ended, in a line."""
    exits = f" exit {ended.exit_code}" if ended.exit_code else ""
    kept = ", and the job goes on" if ended.outcome == "failure" and ended.conclusion == "success" else ""
    taken = style.faint(f" {duration(ended.duration_ms / 1000)}")
    return f"{style.mark(ended.outcome)} {ended.name}{exits}{kept}{taken}"


def ending(picture: Picture, style: Style, *, tails: bool) -> list[str]:
    """Return the last words about a run. ``tails`` repeats the last lines of what failed."""
    ended = picture.ended
    if ended is None:
        return []
    lines = [""]
    for job in picture.jobs.values():
        if job.ended and job.ended.conclusion == "failure":
            lines += _failed(job, job.ended, style, tails=tails)
    remarks = [(job, remark) for job in picture.jobs.values() for remark in job.annotations()]
    lines += [_remark(job, remark, style) for job, remark in remarks if not _EXIT.fullmatch(remark.message)]
    for job in picture.jobs.values():
        for summary in job.summaries():
            lines += ["", style.strong(f"Summary of {job.name}"), *summary.rstrip("\n").split("\n")]
    for name, place in ended.artifacts.items():
        lines.append(f"artifact {name}: {place}")
    counts = picture.counted()
    counted = ", ".join(f"{counts[word]} {_WORDS[word]}" for word in _ORDER if word in counts) or "no jobs"
    taken = duration(ended.duration_ms / 1000)
    folder = picture.started.folder if picture.started else ""
    lines.append(f"{style.mark(ended.conclusion)} {_WORDS[ended.conclusion]} in {taken}: {counted}; logs in {folder}")
    return lines if len(lines) > 2 else lines[1:]


def _failed(job: JobPicture, ended: JobFinished, style: Style, *, tails: bool) -> list[str]:
    lines = [f"{style.mark('failure')} {style.strong(job.name)}{': ' + ended.note if ended.note else ''}"]
    for step in job.steps.values():
        if step.ended and step.ended.conclusion == "failure":
            lines.append(f"  {step_end(step.ended, style)}")
            lines += _tail(step, style) if tails else []
    return lines


def _tail(step: StepPicture, style: Style) -> list[str]:
    return [f"    {style.line(text)}" for text in step.tail]


def _remark(job: JobPicture, remark: Annotation, style: Style) -> str:
    place = f" {remark.file}" if remark.file else ""
    if remark.file and remark.line:
        place += f":{remark.line}" + (f":{remark.column}" if remark.column else "")
    title = f"{remark.title}: " if remark.title else ""
    return f"{style.level(remark.level)}{place} [{job.name}] {title}{remark.message}"
