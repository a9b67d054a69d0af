"""The payload of an event, made of what git knows here, in the form in which the forge would send it.

It holds what workflows read from `github.event`; numbers that only a forge could give are 1. Whoever needs another
value hands in a payload of his own with --event-path.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ostler.cli.local_run.working_tree import NO_COMMIT, Commit, Person, WorkingTree

Payload = dict[str, Any]

_SIDE_BRANCH: Final = "feature"
_NUMBERED_ENTRY: Final = 1


def make_payload(event: str, action: str, tree: WorkingTree, inputs: Mapping[str, str]) -> Payload:
    """Return the payload of an event with this activity type, if it has one."""
    maker = _MAKERS.get(event)
    body = maker(tree) if maker else {}
    if event in ("workflow_dispatch", "workflow_call"):
        body["inputs"] = dict(inputs) or None
    return {
        **({"action": action} if action else {}),
        **body,
        "repository": _repository(tree),
        "sender": _user(tree.person),
    }


def _user(person: Person) -> Payload:
    return {"login": person.login, "id": 1, "type": "User", "name": person.name, "email": person.email or None}


def _repository(tree: WorkingTree) -> Payload:
    page = f"{tree.server}/{tree.repository}"
    return {
        "id": 1,
        "name": tree.name,
        "full_name": tree.repository,
        "private": True,
        "fork": False,
        "owner": {"login": tree.owner, "name": tree.owner, "id": 1, "type": "User"},
        "html_url": page,
        "url": page,
        "clone_url": tree.url or f"{page}.git",
        "default_branch": tree.default_branch,
        "master_branch": tree.default_branch,
        "visibility": "private",
        "topics": [],
    }


def _commit(commit: Commit, tree: WorkingTree) -> Payload:
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "distinct": True,
        "message": commit.message,
        "timestamp": commit.committed,
        "url": f"{tree.server}/{tree.repository}/commit/{commit.sha}",
        "author": {"name": commit.author.name, "email": commit.author.email, "username": commit.author.login},
        "committer": {
            "name": commit.committer.name,
            "email": commit.committer.email,
            "username": commit.committer.login,
        },
    }


def _push(tree: WorkingTree) -> Payload:
    head = _commit(tree.commit, tree) if tree.commit else None
    before = NO_COMMIT if tree.ref.startswith("refs/tags/") else tree.before
    return {
        "ref": tree.ref,
        "before": before,
        "after": tree.sha,
        "created": before == NO_COMMIT,
        "deleted": False,
        "forced": False,
        "base_ref": None,
        "compare": f"{tree.server}/{tree.repository}/compare/{before[:12]}...{tree.sha[:12]}",
        "commits": [head] if head else [],
        "head_commit": head,
        "pusher": {"name": tree.person.login, "email": tree.person.email},
    }


def _side(tree: WorkingTree, ref: str, sha: str) -> Payload:
    return {
        "label": f"{tree.owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": {"login": tree.owner},
        "repo": _repository(tree),
    }


def _pull(tree: WorkingTree) -> Payload:
    head = tree.branch if tree.branch != tree.default_branch else _SIDE_BRANCH
    base_sha = tree.before if tree.before != NO_COMMIT else tree.sha
    page = f"{tree.server}/{tree.repository}/pull/{_NUMBERED_ENTRY}"
    return {
        "id": 1,
        "number": _NUMBERED_ENTRY,
        "state": "open",
        "title": tree.commit.message.partition("\n")[0] if tree.commit else head,
        "body": "",
        "draft": False,
        "merged": False,
        "mergeable": True,
        "labels": [],
        "assignees": [],
        "requested_reviewers": [],
        "user": _user(tree.person),
        "html_url": page,
        "merge_commit_sha": tree.sha,
        "head": _side(tree, head, tree.sha),
        "base": _side(tree, tree.default_branch, base_sha),
        "commits": 1,
        "author_association": "OWNER",
    }


def _pull_request(tree: WorkingTree) -> Payload:
    return {"number": _NUMBERED_ENTRY, "pull_request": _pull(tree)}


def _issue(tree: WorkingTree) -> Payload:
    return {
        "issue": {
            "id": 1,
            "number": _NUMBERED_ENTRY,
            "title": "An issue",
            "body": "",
            "state": "open",
            "labels": [],
            "assignees": [],
            "user": _user(tree.person),
            "html_url": f"{tree.server}/{tree.repository}/issues/{_NUMBERED_ENTRY}",
            "author_association": "OWNER",
        }
    }


def _comment(tree: WorkingTree) -> Payload:
    return {
        "comment": {
            "id": 1,
            "body": "A comment",
            "user": _user(tree.person),
            "html_url": f"{tree.server}/{tree.repository}/issues/{_NUMBERED_ENTRY}#issuecomment-1",
            "author_association": "OWNER",
        }
    }


def _release(tree: WorkingTree) -> Payload:
    tag = tree.tags[0] if tree.tags else "v1.0.0"
    return {
        "release": {
            "id": 1,
            "tag_name": tag,
            "target_commitish": tree.default_branch,
            "name": tag,
            "body": "",
            "draft": False,
            "prerelease": False,
            "assets": [],
            "author": _user(tree.person),
            "created_at": tree.now,
            "published_at": tree.now,
            "html_url": f"{tree.server}/{tree.repository}/releases/tag/{tag}",
        }
    }


def _created(tree: WorkingTree) -> Payload:
    kind = "tag" if tree.ref.startswith("refs/tags/") else "branch"
    return {
        "ref": tree.branch,
        "ref_type": kind,
        "master_branch": tree.default_branch,
        "description": None,
        "pusher_type": "user",
    }


def _merge_group(tree: WorkingTree) -> Payload:
    return {
        "merge_group": {
            "head_sha": tree.sha,
            "head_ref": f"refs/heads/gh-readonly-queue/{tree.default_branch}/pr-1-{tree.before}",
            "base_sha": tree.before,
            "base_ref": f"refs/heads/{tree.default_branch}",
            "head_commit": _commit(tree.commit, tree) if tree.commit else None,
        }
    }


def _workflow_run(tree: WorkingTree) -> Payload:
    run: Payload = {
        "id": 1,
        "name": "CI",
        "run_number": 1,
        "run_attempt": 1,
        "event": "push",
        "status": "completed",
        "conclusion": "success",
        "head_branch": tree.branch,
        "head_sha": tree.sha,
        "head_repository": _repository(tree),
        "head_commit": _commit(tree.commit, tree) if tree.commit else None,
        "pull_requests": [],
        "actor": _user(tree.person),
        "html_url": f"{tree.server}/{tree.repository}/actions/runs/1",
    }
    return {"workflow_run": run, "workflow": {"id": 1, "name": "CI", "state": "active"}}


def _deployment(tree: WorkingTree) -> Payload:
    deployment = {
        "id": 1,
        "sha": tree.sha,
        "ref": tree.branch,
        "task": "deploy",
        "environment": "production",
        "payload": {},
        "description": None,
        "creator": _user(tree.person),
    }
    return {"deployment": deployment}


def _deployment_status(tree: WorkingTree) -> Payload:
    status = {"id": 1, "state": "success", "environment": "production", "creator": _user(tree.person)}
    return {**_deployment(tree), "deployment_status": status}


def _check(noun: str) -> Callable[[WorkingTree], Payload]:
    def made(tree: WorkingTree) -> Payload:
        check: Payload = {
            "id": 1,
            "status": "completed",
            "conclusion": "success",
            "head_sha": tree.sha,
            "pull_requests": [],
        }
        return {noun: {**check, "head_branch": tree.branch, "name": "check"}}

    return made


def _noun(noun: str, **fields: object) -> Callable[[WorkingTree], Payload]:
    def made(tree: WorkingTree) -> Payload:
        return {noun: {"id": 1, **fields, "creator": _user(tree.person)}}

    return made


def _schedule(tree: WorkingTree) -> Payload:
    del tree
    return {"schedule": ""}


_MAKERS: Final[dict[str, Callable[[WorkingTree], Payload]]] = {
    "push": _push,
    "pull_request": _pull_request,
    "pull_request_target": _pull_request,
    "pull_request_review": lambda tree: {
        **_pull_request(tree),
        "review": {"id": 1, "state": "approved", "body": "", "user": _user(tree.person)},
    },
    "pull_request_review_comment": lambda tree: {**_pull_request(tree), **_comment(tree)},
    "pull_request_comment": lambda tree: {**_pull_request(tree), **_comment(tree)},
    "issues": _issue,
    "issue_comment": lambda tree: {**_issue(tree), **_comment(tree)},
    "release": _release,
    "create": _created,
    "delete": _created,
    "schedule": _schedule,
    "workflow_dispatch": lambda tree: {"ref": tree.ref},
    "workflow_call": lambda tree: {"ref": tree.ref},
    "repository_dispatch": lambda tree: {"branch": tree.default_branch, "client_payload": {}},
    "merge_group": _merge_group,
    "workflow_run": _workflow_run,
    "deployment": _deployment,
    "deployment_status": _deployment_status,
    "check_run": _check("check_run"),
    "check_suite": _check("check_suite"),
    "status": lambda tree: {"sha": tree.sha, "state": "success", "context": "default", "branches": []},
    "label": _noun("label", name="bug", color="d73a4a"),
    "milestone": _noun("milestone", number=1, title="A milestone", state="open"),
    "discussion": _noun("discussion", number=1, title="A discussion", body="", state="open"),
    "discussion_comment": lambda tree: {**_noun("discussion", number=1, title="A discussion")(tree), **_comment(tree)},
    "fork": lambda tree: {"forkee": _repository(tree)},
    "gollum": lambda tree: {"pages": [{"page_name": "Home", "title": "Home", "action": "edited", "sha": tree.sha}]},
    "page_build": lambda tree: {"id": 1, "build": {"status": "built", "commit": tree.sha}},
    "registry_package": _noun("registry_package", name="package", package_type="CONTAINER"),
    "branch_protection_rule": _noun("rule", name="main"),
}
