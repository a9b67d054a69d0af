"""Checkout from a server: through the bare repositories of this runner where that gives the same, else directly."""

import os
from collections.abc import Mapping

from ostler.actions.builtin.checkout import credentials, repository
from ostler.actions.builtin.checkout.inputs import Inputs
from ostler.actions.builtin.checkout.mirror import Mirror
from ostler.actions.builtin.checkout.target import Target, resolve
from ostler.actions.builtin.invocation import ActionFailed, Invocation
from ostler.actions.git import REMOTE, Address, Git, GitFailed, address

_MIRRORS = "repositories"


def check_out(inputs: Inputs, invocation: Invocation) -> Target:
    """Bring a commit into the workspace; return which."""
    source = _source(inputs, invocation)
    config = credentials.header(source, inputs.token, invocation)

    def program(folder: str) -> Git:
        return Git(folder, environment=invocation.environment, remote=source, config=config)

    os.makedirs(inputs.path, exist_ok=True)
    git = program(inputs.path)
    git.check_version()
    invocation.say(f"Fetching {inputs.repository} from {source.url}")
    target = resolve(inputs, git)
    repository.prepare(inputs.path, source.url, git, clean=inputs.clean, hash_length=len(target.commit))
    if inputs.safe_directory and os.stat(inputs.path).st_uid != os.geteuid():
        git.output("config", "--global", "--add", "safe.directory", inputs.path)
    mirror = Mirror(os.path.join(invocation.services.cache, _MIRRORS), source.url, program)
    _bring(inputs, target, git, mirror if invocation.services.cache else None)
    _check_out(inputs, target, git, invocation.environment)
    if inputs.submodules:
        _submodules(inputs, source, config, invocation)
    if inputs.persist:
        credentials.persist(config, inputs.path, git, invocation)
    return target


def _source(inputs: Inputs, invocation: Invocation) -> Address:
    """Return where to fetch from: the workflow's own repository may have an address of its own."""
    url = invocation.services.clone_url if inputs.is_own else ""
    if not url and inputs.is_own and invocation.services.source:
        url = f"file://{os.path.abspath(invocation.services.source)}"
    if not url:
        url = f"{inputs.server}/{inputs.repository}"
    source = address(url)
    if source is None or (source.scheme == "file" and not inputs.is_own and not inputs.server):
        raise ActionFailed(f"'{inputs.repository}' cannot be fetched: no address of a git server is known.")
    return source


def _bring(inputs: Inputs, target: Target, git: Git, mirror: Mirror | None) -> None:
    """Have the commit's objects and names in the workspace's repository."""
    if mirror is not None and inputs.depth == 1 and not inputs.tags and not inputs.filter:
        folder, has_parents = mirror.single(target)
        repository.borrow(inputs.path, folder)
        repository.place(inputs.path, target, has_parents=has_parents)
        return
    if mirror is not None and inputs.depth == 0 and not inputs.filter:
        folder = mirror.everything(target)
        repository.borrow(inputs.path, folder)
        _fetch_all(git, target, f"file://{folder}")
        return
    _fetch(inputs, target, git)


def _fetch_all(git: Git, target: Target, url: str) -> None:
    near = Git(git.folder, remote=Address(url))
    near.output(
        "fetch", "--no-recurse-submodules", "--force", *_deepen(git.folder), REMOTE,
        "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*",
    )  # fmt: skip
    if target.ref and not target.ref.startswith("refs/tags/"):
        # The run is about this commit, whatever its branch has become meanwhile.
        near.output("update-ref", target.local_ref, target.object)


def _deepen(path: str) -> tuple[str, ...]:
    return ("--unshallow",) if os.path.exists(os.path.join(path, ".git/shallow")) else ()


def _fetch(inputs: Inputs, target: Target, git: Git) -> None:
    options = ["fetch", "--no-recurse-submodules", "--force", "--progress" if inputs.progress else "--no-progress"]
    if inputs.filter:
        options.append(f"--filter={inputs.filter}")
    refspecs: list[str] = []
    if inputs.depth == 0:
        refspecs += ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]
        options += _deepen(inputs.path)
    else:
        options += [f"--depth={inputs.depth}", "--prune"]
        if inputs.tags:
            refspecs.append("+refs/tags/*:refs/tags/*")
        else:
            options.append("--no-tags")
    # With a filter, what is missing is fetched later and from this address.
    remote = "origin" if inputs.filter else REMOTE
    try:
        git.output(*options, remote, *refspecs, target.object if inputs.depth == 0 else target.refspec)
    except GitFailed as failure:
        if not target.ref or ("unadvertised" not in failure.said and "not our ref" not in failure.said):
            raise
        git.output(*options, remote, *refspecs, target.ref if inputs.depth == 0 else target.ref_refspec)
    if target.ref and inputs.depth == 0 and not target.ref.startswith("refs/tags/"):
        git.output("update-ref", target.local_ref, target.object)


def _check_out(inputs: Inputs, target: Target, git: Git, environment: Mapping[str, str]) -> None:
    if inputs.sparse:
        mode = "--cone" if inputs.cone else "--no-cone"
        git.output(
            "sparse-checkout", "set", mode, "--stdin", given="".join(f"{line}\n" for line in inputs.sparse).encode()
        )
    elif os.path.exists(os.path.join(inputs.path, ".git/info/sparse-checkout")):
        git.output("sparse-checkout", "disable")
    if inputs.lfs:
        if git.attempt("lfs", "version") is None:
            raise ActionFailed("lfs: there is no git-lfs on this runner: install it, or leave out `lfs`.")
        git.output("lfs", "install", "--local")
        git.show("lfs", "fetch", REMOTE, target.checkout[-1])
    progress = "--progress" if inputs.progress else "--quiet"
    git.show(
        "checkout",
        progress,
        "--force",
        *target.checkout,
        environment={"GIT_LFS_SKIP_SMUDGE": "0"} if inputs.lfs else {},
    )


def _submodules(inputs: Inputs, source: Address, config: Mapping[str, str], invocation: Invocation) -> None:
    """Fetch what the repository includes, by no transports but the usual ones: the addresses are its author's."""
    git = Git(inputs.path, environment=invocation.environment, remote=source, config=dict(config))
    deep = ("--recursive",) if inputs.recursive else ()
    git.show("submodule", "sync", *deep)
    depth = (f"--depth={inputs.depth}",) if inputs.depth > 0 else ()
    git.show("submodule", "update", "--init", "--force", *depth, *deep)
