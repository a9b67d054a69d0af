import pytest

from ostler.actions.library import DockerImage, Local, Remote, builtin, parse_uses
from ostler.actions.library.builtins import metadata
from ostler.domain.machine import Refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("actions/checkout@v4", Remote("actions", "checkout", "", "v4")),
        ("actions/cache/restore@v4", Remote("actions", "cache", "restore", "v4")),
        ("o/r/a/b/c@feature/x", Remote("o", "r", "a/b/c", "feature/x")),
        ("o/r@" + "a" * 40, Remote("o", "r", "", "a" * 40)),
        ("./", Local("")),
        ("./.github/actions/one/", Local(".github/actions/one")),
        ("docker://alpine:3", DockerImage("alpine:3")),
    ],
)
def test_references_are_read(text: str, expected: object) -> None:
    assert parse_uses(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "checkout@v4",
        "actions/checkout",
        "actions/checkout@",
        "./../outside",
        "./a/../../b",
        "docker://",
        "o/r/../x@v1",
        "o/..@v1",
        "-o/r@v1",
        "o/r@--upload-pack=sh",
        "o/r@a..b",
        "o/r@.hidden",
        "o/r@a b",
        "o/r@x^{}",
        "o/r@main.lock",
        "o/r@a\nb",
        "o/r@" + "x" * 2000,
    ],
)
def test_what_names_no_action_is_refused(text: str) -> None:
    assert isinstance(parse_uses(text), Refused)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("actions/checkout@v4", "checkout"),
        ("actions/checkout@v3.6.0", "checkout"),
        ("Actions/Checkout@v5", "checkout"),
        ("actions/checkout@main", "checkout"),
        ("actions/checkout@" + "b" * 40, "checkout"),
        ("actions/checkout@v2", None),
        ("actions/checkout@v1.2.3", None),
        ("actions/cache/save@v4", "cache/save"),
        ("actions/upload-artifact/merge@v4", "upload-artifact/merge"),
        ("actions/setup-node@v4", None),
        ("somebody/checkout@v4", None),
    ],
)
def test_which_references_are_answered_by_built_in_programs(text: str, name: str | None) -> None:
    remote = parse_uses(text)
    assert isinstance(remote, Remote)
    assert builtin(remote) == name


@pytest.mark.parametrize("real", ["actions/checkout", "Actions/Checkout"])
def test_the_real_one_is_used_where_it_is_asked_for(real: str) -> None:
    assert builtin(Remote("actions", "checkout", "", "v4"), (real,)) is None


def test_a_repository_among_the_real_ones_means_its_paths_too() -> None:
    assert builtin(Remote("actions", "cache", "save", "v4"), ("actions/cache",)) is None


def test_built_in_actions_have_metadata_like_any_other() -> None:
    checkout = metadata("checkout")
    assert checkout.inputs["fetch-depth"].default == "1"
    assert checkout.outputs.keys() == {"ref", "commit"}
    assert metadata("cache").inputs["key"].required
