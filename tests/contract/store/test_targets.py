"""Repositories and their values on each database: what is stored, what is sealed, what is refused."""

from collections.abc import Callable, Coroutine

import msgspec

from ostler.domain.machine import Refused
from ostler.protocol.v1.repository_messages import CreateRepositoryRequest, RepositoryView, UpdateRepositoryRequest
from ostler.store import target_values, targets
from tests.contract.store.world import World, kept

Play = Callable[[Callable[[World], Coroutine[None, None, None]]], None]
_NO_SECRETS = targets.Secrets()


async def connected(world: World, name: str = "shop", **given: str) -> RepositoryView:
    """A repository with secrets of its own."""
    target_id = world.ids.new("repo")
    fields = {"name": name, "clone_url": "https://git.example/acme/shop.git", **given}
    request = msgspec.convert(fields, CreateRepositoryRequest)
    values = {"webhook_secret": "hook-secret", "password": request.password}
    sealed = targets.seal(target_id, values, world.sealer)
    return kept(await world.run(targets.create, target_id, request, sealed, world.now))


def test_a_repository_is_found_by_name_and_id(in_world: Play) -> None:
    async def scene(world: World) -> None:
        made = await connected(world, password="pass-word-1", username="bot")
        assert (made.full_name, made.has_password, made.has_forge_token) == ("acme/shop", True, False)
        found = kept(await world.read(targets.get, "shop"))
        assert found.view == made == kept(await world.read(targets.view, made.id))
        assert found.opened("password", world.sealer) == "pass-word-1"
        assert found.opened("forge_token", world.sealer) == ""
        again = CreateRepositoryRequest(name="shop", clone_url="https://git.example/other")
        taken = await world.run(targets.create, "repo_2", again, _NO_SECRETS, world.now)
        assert isinstance(taken, Refused)
        assert taken.code == "name_taken"

    in_world(scene)


def test_a_change_keeps_what_it_does_not_name(in_world: Play) -> None:
    async def scene(world: World) -> None:
        made = await connected(world, password="pass-word-1", username="bot")
        change = UpdateRepositoryRequest(default_branch="trunk", disabled=True)
        changed = kept(await world.run(targets.update, "shop", change, _NO_SECRETS))
        assert (changed.default_branch, changed.disabled, changed.username) == ("trunk", True, "bot")
        assert changed.has_password
        bare = kept(await world.run(targets.update, made.id, UpdateRepositoryRequest(password=""), _NO_SECRETS))
        assert not bare.has_password
        found = kept(await world.read(targets.get, "shop"))
        assert found.opened("webhook_secret", world.sealer) == "hook-secret"

    in_world(scene)


def test_what_git_would_misread_is_refused(in_world: Play) -> None:
    async def scene(world: World) -> None:
        for clone_url in ("--upload-pack=id", "ext::sh -c id", "ftp://x/y", "https://a:b@host/x", "https://host", "x"):
            request = CreateRepositoryRequest(name="evil", clone_url=clone_url)
            outcome = await world.run(targets.create, "repo_3", request, _NO_SECRETS, world.now)
            assert isinstance(outcome, Refused), clone_url
        for field, value in {"default_branch": "-x", "workflows_path": "../up", "pool": "nowhere"}.items():
            fields = {"name": "evil", "clone_url": "file:///x/y", field: value}
            request = msgspec.convert(fields, CreateRepositoryRequest)
            assert isinstance(await world.run(targets.create, "repo_3", request, _NO_SECRETS, world.now), Refused)

    in_world(scene)


def test_secrets_are_sealed_for_their_row(in_world: Play) -> None:
    async def scene(world: World) -> None:
        made = await connected(world)
        for name, value in (("api_key", "first-value"), ("API_KEY", "second-value"), ("OTHER", "third-value")):
            prepared = kept(target_values.prepare(made.id, "secret", name, value, world.sealer))
            kept(await world.run(target_values.put, prepared, world.now))
        plain = kept(target_values.prepare(made.id, "variable", "region", "", world.sealer))
        kept(await world.run(target_values.put, plain, world.now))
        listed = kept(await world.read(target_values.list_all, "shop", "secret"))
        assert [(each.name, each.value) for each in listed] == [("API_KEY", ""), ("OTHER", "")]
        sealed = await world.read(target_values.sealed_secrets, made.id)
        assert target_values.open_secrets(made.id, sealed, ["api_key"], world.sealer) == {"API_KEY": "second-value"}
        assert await world.read(target_values.variables, made.id) == {"REGION": ""}
        await world.run(target_values.delete, "shop", "secret", "other")
        assert list(await world.read(target_values.sealed_secrets, made.id)) == ["API_KEY"]
        again = await world.run(target_values.delete, "shop", "secret", "other")
        assert isinstance(again, Refused)

    in_world(scene)


def test_values_that_cannot_be_are_refused(in_world: Play) -> None:
    async def scene(world: World) -> None:
        for name, value in (("1X", "long enough"), ("GITHUB_SHA", "long enough"), ("X-Y", "long enough"), ("OK", "a")):
            assert isinstance(target_values.prepare("repo_1", "secret", name, value, world.sealer), Refused), name
        token = target_values.prepare("repo_1", "secret", "github_token", "ghp_0123456789", world.sealer)
        assert kept(token).name == "GITHUB_TOKEN"

    in_world(scene)


def test_everything_of_a_repository_goes_with_it(in_world: Play) -> None:
    async def scene(world: World) -> None:
        made = await connected(world)
        prepared = kept(target_values.prepare(made.id, "variable", "region", "eu", world.sealer))
        kept(await world.run(target_values.put, prepared, world.now))
        assert await world.run(targets.delete, "shop") is None
        assert await world.read(target_values.variables, made.id) == {}
        assert isinstance(await world.read(targets.view, "shop"), Refused)

    in_world(scene)
