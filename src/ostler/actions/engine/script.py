"""A step with ``run``: a script for a shell."""

import os

from ostler.actions.engine.evaluation import text
from ostler.actions.engine.frame import Frame, StepFault
from ostler.actions.engine.machine import Outcome
from ostler.actions.engine.shells import find_shell
from ostler.domain.machine import Refused

_CYAN, _PLAIN = "\x1b[36;1m", "\x1b[0m"


async def run_script(frame: Frame) -> Outcome:
    """Write the script, say what runs, run it."""
    step, job = frame.step, frame.job
    scope = frame.view.plain()
    defaults = job.program.defaults
    embedded = frame.place.embedded
    script = text("run", step.run or "", scope)
    named = text("shell", step.shell or ("" if embedded else defaults.shell), scope)
    folder = text(
        "working-directory", step.working_directory or ("" if embedded else defaults.working_directory), scope
    )
    directory = working_directory(job.machine.layout.workspace, folder)
    environment = frame.environment()
    shell = find_shell(named.strip(), environment["PATH"], directory)
    if isinstance(shell, Refused):
        raise StepFault(f"{shell.reason}.", shell.code)
    path = f"{job.machine.layout.files}/{frame.key}{shell.extension}"
    _write(path, shell.content(script))
    announce(frame, script, [f"shell: {shell.shown}"])
    outcome = await frame.run(shell.argv(path), environment, directory)
    if outcome == "failed" and frame.ending is not None and not frame.ending.fault:
        code, number = frame.ending.code, frame.ending.signal
        how = f"exit code {code}" if number is None else f"exit code {128 + number} (signal {number})"
        frame.conversation.error(f"Process completed with {how}.")
    return outcome


def working_directory(workspace: str, folder: str) -> str:
    """Return the folder to run in. A relative one that leads out of the workspace, by ``..`` or a link, is refused."""
    if not folder.strip():
        if not os.path.isdir(workspace):
            raise StepFault("The workspace does not exist any more.", "working_directory")
        return workspace
    if "\0" in folder:
        raise StepFault("`working-directory` holds a NUL.", "working_directory")
    path = os.path.join(workspace, folder.strip())
    if not os.path.isabs(folder.strip()):
        top, real = os.path.realpath(workspace), os.path.realpath(path)
        if real != top and not real.startswith(f"{top}/"):
            raise StepFault(f"`working-directory: {folder}` leads out of the workspace.", "working_directory")
    if not os.path.isdir(path):
        raise StepFault(f"`working-directory: {folder}` does not exist.", "working_directory")
    return path


def announce(frame: Frame, script: str, lines: list[str]) -> None:
    """Show what runs, folded, as the first thing of the step's log."""
    say = frame.conversation.say
    first = next((line.strip() for line in script.splitlines() if line.strip()), "")
    say(f"##[group]Run {first}")
    for line in script.rstrip().splitlines():
        say(f"{_CYAN}{line}{_PLAIN}")
    for line in lines:
        say(line)
    show_env(frame)
    say("##[endgroup]")


def show_env(frame: Frame) -> None:
    """Show the variables that workflow, job, step and earlier steps set."""
    if frame.env:
        frame.conversation.say("env:")
        for name, value in frame.env.items():
            frame.conversation.say(f"  {name}: {value}")


def _write(path: str, content: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o700)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content.encode("utf-8", "surrogatepass"))
