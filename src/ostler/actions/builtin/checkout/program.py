"""The action itself: in a local run the working tree as it is, otherwise a commit from a server."""

from ostler.actions.builtin.checkout import credentials, remote, working_tree
from ostler.actions.builtin.checkout.inputs import read_inputs
from ostler.actions.builtin.invocation import ActionFailed, Invocation
from ostler.actions.git import GitFailed

_NOT_LET_IN = ("could not read Username", "Authentication failed", "terminal prompts disabled")


def main(invocation: Invocation) -> None:
    """Check out."""
    inputs = read_inputs(invocation)
    if inputs.is_event and invocation.services.source:
        copied = working_tree.copy(inputs, invocation)
        invocation.output("ref", inputs.ref)
        invocation.output("commit", inputs.commit)
        invocation.say(f"Copied {copied} files of the working tree {invocation.services.source}, changes included")
        return
    try:
        target = remote.check_out(inputs, invocation)
    except GitFailed as failure:
        if not any(words in failure.said for words in _NOT_LET_IN):
            raise
        raise ActionFailed(
            f"{inputs.repository} is not for everybody, and the credentials were missing or not accepted: "
            f"set the secret GITHUB_TOKEN, or give `token`. ({failure.said})"
        ) from failure
    invocation.output("ref", inputs.ref or target.ref)
    invocation.output("commit", target.commit)
    invocation.say(f"Checked out {target.commit}" + (f" of {target.ref}" if target.ref else ""))


def post(invocation: Invocation) -> None:
    """Remove the credentials."""
    credentials.forget(invocation)
