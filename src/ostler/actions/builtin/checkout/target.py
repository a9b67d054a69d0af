"""From ref and commit to what is fetched, under which names it is kept, and what is checked out."""

from typing import NamedTuple

from ostler.actions.builtin.checkout.inputs import Inputs
from ostler.actions.builtin.invocation import ActionFailed
from ostler.actions.git import REMOTE, Git

_HEADS, _TAGS, _PULLS = "refs/heads/", "refs/tags/", "refs/pull/"


class Target(NamedTuple):
    """One commit and the name that it has in the workspace."""

    ref: str
    """As the server names it; nothing if only the commit is known."""
    commit: str
    tag_object: str = ""
    """What an annotated tag is, besides the commit that it names."""

    @property
    def local_ref(self) -> str:
        """The name under which the workspace keeps it."""
        if self.ref.startswith(_HEADS):
            return f"refs/remotes/origin/{self.ref.removeprefix(_HEADS)}"
        if self.ref.startswith(_PULLS):
            return f"refs/remotes/pull/{self.ref.removeprefix(_PULLS)}"
        return self.ref

    @property
    def object(self) -> str:
        return self.tag_object or self.commit

    @property
    def refspec(self) -> str:
        """Fetches exactly this commit."""
        return f"+{self.object}:{self.local_ref}" if self.ref else self.commit

    @property
    def ref_refspec(self) -> str:
        """Fetches what the ref is now, from a server that does not give commits by their ids."""
        return f"+{self.ref}:{self.local_ref}" if self.ref else self.commit

    @property
    def checkout(self) -> tuple[str, ...]:
        """The arguments of ``git checkout``."""
        if self.ref.startswith(_HEADS):
            return ("-B", self.ref.removeprefix(_HEADS), self.local_ref)
        return ("--detach", self.local_ref if self.ref else self.commit)


def resolve(inputs: Inputs, git: Git) -> Target:
    """Return what is asked for, asking the server only for what is not known yet."""
    if inputs.commit:
        return Target(inputs.ref, inputs.commit)
    if not inputs.ref:
        return _default_branch(git)
    names = (inputs.ref,) if inputs.ref.startswith("refs/") else (f"{_HEADS}{inputs.ref}", f"{_TAGS}{inputs.ref}")
    found = _advertised(git, *names, *(f"{name}^{{}}" for name in names if name.startswith(_TAGS)))
    for name in names:
        if name in found:
            peeled = found.get(f"{name}^{{}}")
            return Target(name, peeled or found[name], found[name] if peeled else "")
    raise ActionFailed(f"A branch or tag with the name '{inputs.ref}' could not be found")


def _default_branch(git: Git) -> Target:
    commit = branch = ""
    for line in git.output("ls-remote", "--symref", REMOTE, "HEAD").decode(errors="replace").splitlines():
        value, _, name = line.partition("\t")
        if name == "HEAD" and value.startswith("ref: "):
            branch = value.removeprefix("ref: ")
        elif name == "HEAD":
            commit = value
    if not commit:
        raise ActionFailed("The repository has no commit yet.")
    return Target(branch, commit)


def _advertised(git: Git, *names: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in git.output("ls-remote", REMOTE, *names).decode(errors="replace").splitlines():
        commit, _, name = line.partition("\t")
        found[name] = commit
    return found
