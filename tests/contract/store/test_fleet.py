"""Pools, runners, tokens and people: who may be here, who is, and what was decided about them."""

import asyncio
from collections.abc import Callable, Coroutine

import msgspec

from ostler.domain.job import JobKind, JobState
from ostler.domain.pool import PoolStatus
from ostler.domain.runner import Admission, RunnerStatus
from ostler.protocol.v1.fleet_messages import (
    AdmissionRequest,
    CreatePoolRequest,
    CreateTokenRequest,
    RunnersQuery,
    UpdatePoolRequest,
)
from ostler.protocol.v1.runner_messages import HelloRequest, LeaseRef, Metrics
from ostler.scheduling.demand import RunnerFacts
from ostler.store import admissions, claims, enrolment, jobs, leadership, pools, runners, sign_in, tokens
from ostler.store.database import Database
from tests.contract.store.world import SECOND, World, code_of, kept, there

Play = Callable[[Callable[[World], Coroutine[None, None, None]]], None]

HELLO = HelloRequest(protocol=1, version="1.0", labels=["Linux", "x64"], isolation="sandbox")


async def hello(world: World, runner: str, said: HelloRequest = HELLO) -> object:
    return await world.run(runners.hello, runner, said, world.now)


async def facts(world: World, runner: str) -> RunnerFacts:
    return (await world.read(runners.facts, runner_id=runner))[0]


async def decision(world: World, runner: str, request: AdmissionRequest) -> Admission:
    return kept(await world.run(admissions.admit, runner, request, world.now)).admission


def test_fifty_at_once_use_a_token_as_often_as_it_allows(in_world: Play) -> None:
    async def scene(world: World) -> None:
        secret = await world.token(uses=1)
        outcomes = await asyncio.gather(
            *(
                world.run(enrolment.enrol, world.enrolment(secret, f"r-{number}"), f"rnr_{number}", world.now)
                for number in range(50)
            )
        )
        enrolled = [each for each in outcomes if not hasattr(each, "code")]
        assert len(enrolled) == 1
        assert {code_of(each) for each in outcomes if hasattr(each, "code")} == {"registration_refused"}

    in_world(scene)


def test_tokens_end_by_use_by_time_and_by_revocation(in_world: Play) -> None:
    async def scene(world: World) -> None:
        async def tried(secret: str, name: str) -> object:
            return await world.run(enrolment.enrol, world.enrolment(secret, name), world.ids.new("rnr"), world.now)

        once = await world.token(uses=1)
        first = kept(await tried(once, "a"))
        assert await tried(once, "a") == first, "the same key and public key get the same runner again"
        assert code_of(await tried(once, "b")) == "registration_refused"
        assert code_of(await tried("unknown", "c")) == "registration_refused"
        revoked = await world.token()
        listed = await world.read(tokens.list_valid, world.now)
        assert [token.pool_name for token in listed] == ["hosted"]
        assert await world.run(tokens.revoke, listed[0].id, world.now) is None
        assert await world.run(tokens.revoke, listed[0].id, world.now) is None
        assert code_of(await tried(revoked, "d")) == "registration_refused"
        assert code_of(await world.run(tokens.revoke, "tok_unknown", world.now)) == "not_found"
        late = await world.token()
        world.wait(3601)
        assert code_of(await tried(late, "e")) == "registration_refused"
        assert await world.run(tokens.forget_expired, world.now) == 3

    in_world(scene)


def test_names_are_distinct_and_a_pool_may_admit_one_process(in_world: Play) -> None:
    async def scene(world: World) -> None:
        alpha = await world.runner("alpha")
        kept(await hello(world, alpha))
        secret = await world.token()
        rival = msgspec.structs.replace(world.enrolment(secret, "alpha", key="other-key"), public_key="k" * 43)
        assert code_of(await world.run(enrolment.enrol, rival, "rnr_rival", world.now)) == "runner_name_taken"
        assert await world.run(runners.leave, alpha, world.now) is None
        assert kept(await world.run(enrolment.enrol, rival, "rnr_rival", world.now)).runner_id == "rnr_rival"
        assert there(await world.read(enrolment.keys, "rnr_rival")).public_keys == ("k" * 43,)
        assert await world.read(enrolment.keys, alpha) is None

        kept(await world.run(pools.create, "pool_one", CreatePoolRequest("one"), world.now))
        first, second = await world.runner("first", pool="one"), await world.runner("second", pool="one")
        kept(await hello(world, first))
        assert code_of(await hello(world, second)) == "single_process"
        third = world.enrolment(await world.token(pool="one"), "third")
        assert code_of(await world.run(enrolment.enrol, third, "rnr_3", world.now)) == "single_process"
        kept(await world.run(pools.update, "one", UpdatePoolRequest(allow_multiple_instances=True)))
        kept(await hello(world, second))

    in_world(scene)


def test_an_enrolment_that_was_overtaken_by_its_repetition_with_another_token_replaces_nobody(in_world: Play) -> None:
    async def scene(world: World) -> None:
        first = world.enrolment(await world.token(uses=1), "alpha", key="first-key")
        again = world.enrolment(await world.token(uses=1), "alpha", key="second-key")
        assert kept(await world.run(enrolment.enrol, again, "rnr_again", world.now)).runner_id == "rnr_again"
        assert kept(await world.run(enrolment.enrol, first, "rnr_first", world.now)).runner_id == "rnr_again"
        assert there(await world.read(enrolment.keys, "rnr_again")).admission is Admission.ACTIVE

        # Revoked, it is let in again by a token that it has not used, and by no other.
        assert await decision(world, "alpha", AdmissionRequest("revoke")) is Admission.REVOKED
        used = msgspec.structs.replace(again, key="third-key")
        assert code_of(await world.run(enrolment.enrol, used, "rnr_used", world.now)) == "registration_refused"
        assert kept(await world.run(enrolment.enrol, first, "rnr_first", world.now)).runner_id == "rnr_first"

    in_world(scene)


def test_an_enrolment_whose_answer_was_lost_is_answered_even_when_the_runner_is_in_the_history(in_world: Play) -> None:
    async def scene(world: World) -> None:
        request = world.enrolment(await world.token(uses=1), "alpha")
        assert kept(await world.run(enrolment.enrol, request, "rnr_1", world.now)).runner_id == "rnr_1"
        swept = await world.run(runners.sweep, world.now)
        while not swept.retired:
            world.wait(15)
            swept = await world.run(runners.sweep, world.now)
        assert kept(await world.run(enrolment.enrol, request, "rnr_2", world.now)).runner_id == "rnr_1"
        assert there(await world.read(enrolment.keys, "rnr_1")).admission is Admission.ACTIVE
        kept(await hello(world, "rnr_1"))

    in_world(scene)


def test_an_assertion_is_used_once(in_world: Play) -> None:
    async def scene(world: World) -> None:
        uses = [world.run(enrolment.use_assertion, "rnr_1", "jti", world.now + SECOND) for _ in range(5)]
        assert sorted(await asyncio.gather(*uses)) == [False] * 4 + [True]
        assert await world.run(enrolment.use_assertion, "rnr_2", "jti", world.now + SECOND)
        assert await world.run(enrolment.forget_assertions, world.now + 2 * SECOND) == 2

    in_world(scene)


def test_a_silent_runner_goes_offline_then_leaves_and_comes_back(in_world: Play) -> None:
    async def scene(world: World) -> None:
        runner = await world.runner()
        kept(await hello(world, runner))
        assert kept(await world.read(pools.get, "hosted")).status is PoolStatus.HEALTHY
        await world.run(runners.sweep, world.now)
        swept = runners.SweptRunners()
        for _ in range(5):
            world.wait(10)
            swept = await world.run(runners.sweep, world.now)
        assert swept.silent == (runner,)
        assert kept(await world.read(runners.get, "alpha")).status is RunnerStatus.OFFLINE
        assert kept(await world.read(pools.get, "hosted")).status is PoolStatus.OFFLINE
        for _ in range(6 * 90):
            world.wait(10)
            swept = await world.run(runners.sweep, world.now)
            if swept.retired:
                break
        assert swept.retired == (runner,)
        assert (await world.read(runners.list_page, RunnersQuery())).runners == []
        assert there(await world.read(enrolment.keys, runner)).admission is Admission.ACTIVE
        kept(await hello(world, runner))
        assert kept(await world.read(runners.get, runner)).status is RunnerStatus.IDLE

    in_world(scene)


def test_a_server_that_was_away_does_not_call_runners_silent(in_world: Play) -> None:
    async def scene(world: World) -> None:
        runner = await world.runner()
        kept(await hello(world, runner))
        await world.run(runners.sweep, world.now)
        world.wait(1800)
        assert await world.run(runners.sweep, world.now) == runners.SweptRunners()
        world.wait(10)
        assert await world.run(runners.sweep, world.now) == runners.SweptRunners()

    in_world(scene)


def test_heartbeats_carry_errors_and_bring_a_runner_back(in_world: Play) -> None:
    async def scene(world: World) -> None:
        runner = await world.runner()
        kept(await hello(world, runner))

        async def beat(error: str = "") -> RunnerStatus:
            kept(await world.run(runners.heartbeat, runner, [], Metrics(load=1.5), error, world.now))
            return kept(await world.read(runners.get, runner)).status

        assert await beat() is RunnerStatus.IDLE
        assert await beat("docker is gone") is RunnerStatus.ERROR
        assert kept(await world.read(runners.get, runner)).error == "docker is gone"
        assert await beat() is RunnerStatus.IDLE
        assert await world.run(runners.leave, runner, world.now) is None
        assert await beat() is RunnerStatus.IDLE
        assert await world.run(runners.report, runner, "error", "sick", world.now) is None
        assert await world.run(runners.report, runner, "offline", "", world.now) is None
        assert kept(await world.read(runners.get, runner)).status is RunnerStatus.OFFLINE
        assert code_of(await world.run(runners.heartbeat, "rnr_x", [], Metrics(), "", world.now)) == "not_found"

    in_world(scene)


def test_facts_join_what_a_runner_and_its_pool_say(in_world: Play) -> None:
    async def scene(world: World) -> None:
        request = CreatePoolRequest("big", labels=["eu"], job_kinds=[JobKind.CI, JobKind.DEPLOYMENT])
        kept(await world.run(pools.create, "pool_big", request, world.now))
        runner = await world.runner("alpha", pool="big")
        said = msgspec.structs.replace(HELLO, job_kinds=[JobKind.CI, JobKind.INSIGHTS_SCAN])
        kept(await hello(world, runner, said))
        known = await facts(world, runner)
        assert known.labels == {"linux", "x64", "eu"}
        assert known.kinds == {JobKind.CI}
        assert (known.isolation, known.busy) == ("sandbox", frozenset())
        assert await world.read(runners.facts, pool_id="pool_hosted") == []
        assert await world.read(runners.facts) == [known]

    in_world(scene)


def test_decisions_hold_back_work_and_pauses_end(in_world: Play) -> None:
    async def scene(world: World) -> None:
        runner = await world.runner()
        kept(await hello(world, runner))
        await world.submit()
        assert await decision(world, "alpha", AdmissionRequest("pause", "coffee", 60_000)) is Admission.PAUSED
        assert await world.claim(runner) is None
        assert (await facts(world, runner)).note == "coffee"
        assert await world.run(admissions.resume_due, world.now) == []
        world.wait(61)
        assert await world.run(admissions.resume_due, world.now) == [runner]
        claim = await world.running(runner)
        assert kept(await world.read(runners.get, runner)).status is RunnerStatus.BUSY
        assert await decision(world, runner, AdmissionRequest("drain")) is Admission.DRAINING
        kept(await world.finish(claim))
        await world.submit()
        assert await world.claim(runner) is None
        refused = await world.run(admissions.admit, runner, AdmissionRequest("enable"), world.now)
        assert code_of(refused) == "transition_refused"
        kept(await world.run(pools.update, "hosted", UpdatePoolRequest(disabled=True)))
        await decision(world, runner, AdmissionRequest("resume"))
        assert await world.claim(runner) is None
        kept(await world.run(pools.update, "hosted", UpdatePoolRequest(disabled=False)))
        assert await world.claim(runner) is not None
        missing = await world.run(admissions.admit, "nobody", AdmissionRequest("pause"), world.now)
        assert code_of(missing) == "not_found"

    in_world(scene)


def test_revoking_takes_keys_claims_and_running_jobs_at_once(in_world: Play) -> None:
    async def scene(world: World) -> None:
        runner = await world.runner()
        await world.submit()
        claim = await world.running(runner)
        assert await decision(world, runner, AdmissionRequest("revoke")) is Admission.REVOKED
        assert await world.read(enrolment.keys, runner) is None
        assert code_of(await hello(world, runner)) == "runner_revoked"
        assert code_of(await world.run(runners.heartbeat, runner, [], Metrics(), "", world.now)) == "runner_revoked"
        assert code_of(await world.finish(claim)) == "job_ended"
        assert kept(await world.read(jobs.get, claim.job_id)).state is JobState.FAILED
        await world.submit()
        assert await world.claim(runner) is None

    in_world(scene)


def test_a_job_is_assigned_to_a_named_runner(in_world: Play) -> None:
    async def scene(world: World) -> None:
        runner = await world.runner()
        await world.submit("first")
        chosen = await world.submit("second")
        classes = await world.classes()
        want = claims.Want(runner_id=runner, slot=JobKind.CI.slot, key="assigned", demand_ids=classes)
        claim = kept(await world.run(claims.claim_one, want, chosen.job_id, world.now))
        assert claim.job_id == chosen.job_id
        again = kept(await world.run(claims.claim_one, want, chosen.job_id, world.now))
        assert (again.job_id, again.repeated) == (chosen.job_id, True)
        other = msgspec.structs.replace(want, runner_id=await world.runner("beta"))
        assert code_of(await world.run(claims.claim_one, other, chosen.job_id, world.now)) == "transition_refused"
        assert code_of(await world.run(claims.claim_one, other, "job_unknown", world.now)) == "not_found"

    in_world(scene)


def test_pools_are_made_changed_and_deleted_by_the_rules(in_world: Play) -> None:
    async def scene(world: World) -> None:
        made = kept(
            await world.run(pools.create, "pool_big", CreatePoolRequest("Big_one", labels=["B", "a"]), world.now)
        )
        assert (made.name, made.labels, made.status) == ("Big_one", ["a", "b"], PoolStatus.INACTIVE)
        for name, code in (("Big_one", "name_taken"), ("big-one", "name_taken"), ("x", "name_length")):
            assert code_of(await world.run(pools.create, "pool_x", CreatePoolRequest(name), world.now)) == code
        assert [pool.name for pool in await world.read(pools.list_all)] == ["hosted", "Big_one"]
        kept(await world.run(pools.update, "Big_one", UpdatePoolRequest(default=True, description="for us")))
        assert kept(await world.read(pools.get, "pool_big")).default
        assert code_of(await world.run(pools.delete, "hosted", world.now)) == "pool_hosted"
        await world.submit()
        assert code_of(await world.run(pools.delete, "Big_one", world.now)) == "pool_in_use"
        claim = await world.running(await world.runner(pool="Big_one"))
        assert code_of(await world.run(pools.delete, "Big_one", world.now)) == "pool_in_use"
        kept(await world.finish(claim))
        assert await world.run(pools.delete, "Big_one", world.now) is None
        assert code_of(await world.run(pools.delete, "Big_one", world.now)) == "not_found"
        assert kept(await world.read(pools.get, "hosted")).default
        assert code_of(await world.run(pools.update, "gone", UpdatePoolRequest())) == "not_found"

    in_world(scene)


def test_people_sign_in_with_a_code_that_works_once(in_world: Play) -> None:
    async def scene(world: World) -> None:
        ada = await world.run(sign_in.ensure_user, "usr_1", "ada", "operator", world.now)
        assert await world.run(sign_in.ensure_user, "usr_2", "ada", "user", world.now) == ada
        await world.run(sign_in.create_code, "code", ada.user_id, world.now + SECOND)
        tries = [world.run(sign_in.use_code, "code", world.now) for _ in range(5)]
        outcomes = await asyncio.gather(*tries)
        assert [each for each in outcomes if each == ada] == [ada]
        await world.run(sign_in.create_code, "late", ada.user_id, world.now + SECOND)
        assert code_of(await world.run(sign_in.use_code, "late", world.now + SECOND)) == "unauthenticated"
        await world.run(sign_in.create_session, "cookie", ada.user_id, world.now, world.now + SECOND)
        assert there(await world.read(sign_in.session, "cookie", world.now)).identity == ada
        assert await world.run(sign_in.extend_session, "cookie", world.now, world.now + 2 * SECOND)
        assert there(await world.read(sign_in.session, "cookie", world.now + SECOND)).identity == ada
        await world.run(sign_in.end_session, "cookie")
        assert await world.read(sign_in.session, "cookie", world.now) is None
        token = tokens.NewToken(id="tok_1", secret="api-secret", user_id=ada.user_id)
        kept(await world.run(tokens.create, token, CreateTokenRequest("api", "laptop"), world.now))
        assert await world.read(tokens.identify, "api-secret", world.now) == ada
        assert await world.read(tokens.identify, "api-secret", world.now + 3601 * SECOND) is None
        assert await world.run(sign_in.forget_expired, world.now + 5 * SECOND) == 1

    in_world(scene)


def test_one_replica_holds_a_loop(in_world: Play) -> None:
    async def scene(world: World) -> None:
        async def taken(holder: str) -> int | None:
            return await world.run(leadership.acquire, "loop", holder, 10 * SECOND, world.now)

        assert [await taken("a"), await taken("b"), await taken("a")] == [1, None, 1]
        world.wait(11)
        assert [await taken("b"), await taken("a")] == [2, None]
        await world.run(leadership.release, "loop", "b")
        assert await taken("a") == 3
        world.wait(11)
        await world.run(leadership.acquire, "loop", "tomorrow", 10 * SECOND, world.now + 86_400 * SECOND)
        assert await taken("a") == 5  # a lease that ends tomorrow was written by a clock that went wrong
        world.wait(11)
        contest = await asyncio.gather(*(taken(f"c-{number}") for number in range(20)))
        assert [term for term in contest if term] == [6]

    in_world(scene)


def test_databases_satisfy_the_protocol(in_world: Play) -> None:
    async def scene(world: World) -> None:
        database: Database = world.database
        await database.check()

    in_world(scene)


def test_heartbeats_of_one_moment_are_answered_each_on_its_own(in_world: Play) -> None:
    async def scene(world: World) -> None:
        alpha, beta = await world.runner("alpha"), await world.runner("beta")
        await world.submit()
        claim = await world.claimed(beta)
        mine = [LeaseRef(claim.job_id, claim.fence)]
        beats = [
            runners.Heartbeat("rnr_x", [], Metrics()),
            runners.Heartbeat(alpha, mine, Metrics(), "no disk"),
            runners.Heartbeat(beta, mine, Metrics()),
            runners.Heartbeat(alpha, [], Metrics()),
        ]
        unknown, foreign, own, again = await world.run(runners.heartbeat_many, beats, world.now)
        assert code_of(unknown) == "not_found"
        assert [each.action for each in kept(foreign)] == ["abandon"]
        assert kept(own) == []
        assert kept(again) == []
        assert kept(await world.read(runners.get, alpha)).error == "", "what it said last counts"

    in_world(scene)
