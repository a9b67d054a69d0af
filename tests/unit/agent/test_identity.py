"""Who the runner is: enrolment, tokens that renew themselves, and the way back after a refusal (F3)."""

import asyncio

import msgspec
import pytest

from ostler.agent.errors import EnrolmentRefused
from ostler.agent.identity import PATH, http_date
from ostler.protocol.v1.runner_messages import (
    EnrolReply,
    EnrolRequest,
    HeartbeatReply,
    HeartbeatRequest,
    TokenReply,
    TokenRequest,
)
from tests.unit.agent.control_plane import REGISTRATION_TOKEN, ControlPlane, Fault, Refusal
from tests.unit.agent.fakes import Bench, FakeSupervisor, patient
from tests.unit.client.simulated import LoopClock, simulate


def test_the_key_is_made_here_and_only_its_public_half_leaves() -> None:
    async def scenario() -> None:
        async with Bench(labels=("linux", "gpu"), description="under the desk") as bench:
            await bench.agent.ready.wait()
            enrolled = bench.plane.enrolled[0]
            identity = msgspec.json.decode(bench.disk.files[PATH])
            assert identity["private_key"] not in str(bench.plane.requests)
            assert len(enrolled.public_key) == 43
            assert (enrolled.name, enrolled.labels, enrolled.description) == (
                "test-runner",
                ["linux", "gpu"],
                "under the desk",
            )
            assert REGISTRATION_TOKEN.encode() not in b"".join(bench.disk.files.values())

    simulate(scenario)


def test_a_restarted_runner_is_the_same_without_its_token() -> None:
    async def scenario() -> None:
        bench = Bench()
        async with bench:
            await bench.agent.ready.wait()
            bench.token = ""
            await bench.restart()
            await bench.agent.ready.wait()
            assert len(bench.plane.enrolled) == 1

    simulate(scenario)


def test_a_lost_enrolment_makes_no_second_runner_even_over_a_crash() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.plane.faults["enrol"].append(Fault("lost_reply"))
        async with bench:
            await bench.plane.until(lambda: bench.plane.calls["enrol"] == 1)
            await bench.restart()
            await bench.agent.ready.wait()
            assert bench.plane.calls["enrol"] == 2
            assert len(bench.plane.enrolled) == 1

    simulate(scenario)


def test_an_enrolment_that_was_not_answered_is_repeated_with_its_key_pair_whatever_the_token() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.plane.faults["enrol"].append(Fault("lost_reply"))
        async with bench:
            await bench.plane.until(lambda: bench.plane.calls["enrol"] == 1)
            bench.plane.tokens.add("new")
            bench.token = "new"
            await bench.restart()
            await bench.agent.ready.wait()
            first, second = bench.plane.enrolled
            assert first.public_key == second.public_key
            assert first.key != second.key

    simulate(scenario)


class LateRefusal(ControlPlane):
    """Is asked for a token by whom it no longer knows, while that runner enrols again, and refuses it afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.enrolling = self.asked = False

    async def _enrol(self, message: EnrolRequest, runner: str, query: object) -> EnrolReply:
        if self.enrolled:
            self.enrolling = True
            await self.until(lambda: self.asked)
        return await super()._enrol(message, runner, query)

    async def _access_token(self, message: TokenRequest, runner: str, query: object) -> TokenReply:
        if self.enrolling and not self.asked:
            self.asked = True
            await self.poke()
            await self.until(lambda: len(self.enrolled) == 2)
        return await super()._access_token(message, runner, query)


def test_a_refusal_that_is_about_who_the_runner_was_does_not_touch_who_it_is() -> None:
    async def scenario() -> None:
        plane = LateRefusal()
        async with Bench(plane) as bench:
            await bench.agent.ready.wait()
            del plane.keys["rnr_0"]
            plane.access.clear()
            await plane.hang_up()
            await plane.until(lambda: plane.asked)
            await asyncio.sleep(120)
            assert len(plane.enrolled) == 2
            job = await plane.submit("for who it is")
            await plane.until(lambda: job.result)

    simulate(scenario)


class LateRevocation(ControlPlane):
    """Tells a runner by the answer to an old heartbeat that it was revoked, when it runs a job as another already."""

    def __init__(self) -> None:
        super().__init__()
        self.beaten, self.answers = asyncio.Event(), asyncio.Event()

    async def _heartbeat(self, message: HeartbeatRequest, runner: str, query: object) -> HeartbeatReply:
        if not self.answers.is_set():
            self.beaten.set()
            await self.answers.wait()
            raise Refusal("runner_revoked")
        return await super()._heartbeat(message, runner, query)


def test_a_late_word_of_the_old_identitys_end_ends_no_job_of_the_new() -> None:
    async def scenario() -> None:
        plane = LateRevocation()
        bench = Bench(plane)
        bench.supervisors.script = patient
        async with bench:
            await bench.agent.ready.wait()
            await plane.beaten.wait()
            plane.tokens.add("new")
            bench.token = "new"
            plane.revoked.add("rnr_0")
            await plane.hang_up()
            await plane.until(lambda: len(plane.enrolled) == 2)
            job = await plane.submit("for who it is")
            await plane.until(lambda: job.events)
            plane.answers.set()
            await asyncio.sleep(30)
            assert not bench.supervisor(job.id).killed

    simulate(scenario)


def test_tokens_rotate_before_they_expire_and_every_assertion_is_fresh() -> None:
    async def scenario() -> None:
        plane = ControlPlane()
        async with Bench(plane) as bench:
            await bench.agent.ready.wait()
            await asyncio.sleep(600)
            assert 10 <= len(plane.jtis) <= 25
            assert len(set(plane.jtis)) == len(plane.jtis)
            assert bench.agent.identity.failures == 0

    simulate(scenario)


def test_an_access_token_that_is_refused_is_replaced() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            await bench.agent.ready.wait()
            bench.plane.access.clear()
            job = await bench.plane.submit("after the keys were changed")
            async with asyncio.timeout(60):
                await bench.plane.until(lambda: job.result)
            assert bench.agent.identity.failures >= 1

    simulate(scenario)


def test_a_wrong_token_at_the_first_start_ends_the_agent() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.token = "wrong"
        async with bench:
            with pytest.raises(EnrolmentRefused) as raised:
                await bench.ended()
            assert raised.value.exit_code == 4
            assert "ostler token create" in raised.value.fix

    simulate(scenario)


def test_a_revoked_runner_kills_its_job_and_returns_only_with_a_new_token() -> None:
    """Rows 276 and 395; threat 7."""

    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        async with bench:
            job = await bench.plane.submit("running")
            await bench.plane.until(lambda: job.events)
            supervisor = bench.supervisor(job.id)
            bench.plane.revoked.add("rnr_0")
            await bench.plane.poke()
            await asyncio.sleep(60)
            assert supervisor.killed
            assert bench.agent.slots.lives == []
            await asyncio.sleep(600)
            assert len(bench.plane.enrolled) == 1
            bench.plane.tokens.add("new")
            bench.token = "new"
            async with asyncio.timeout(60):
                await bench.plane.until(lambda: len(bench.plane.enrolled) == 2)
            bench.supervisors.script = FakeSupervisor.end
            again = await bench.plane.submit("after the return")
            await bench.plane.until(lambda: again.result)

    simulate(scenario)


def test_a_server_that_forgot_the_runner_gets_it_back_by_itself() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            await bench.agent.ready.wait()
            del bench.plane.keys["rnr_0"]
            bench.plane.access.clear()
            async with asyncio.timeout(120):
                await bench.plane.until(lambda: len(bench.plane.enrolled) == 2)
            job = await bench.plane.submit("after")
            await bench.plane.until(lambda: job.result)

    simulate(scenario)


def test_a_clock_that_is_a_day_off_is_corrected_by_the_servers() -> None:
    async def scenario() -> None:
        bench = Bench()
        assert isinstance(bench.effects.clock, LoopClock)
        bench.effects.clock.skew_micros = 86_400_000_000
        bench.plane.date = "Fri, 15 Jan 2027 08:00:00 GMT"
        bench.plane.faults["access_token"].append(Fault("problem", "assertion_refused"))
        async with bench:
            await bench.agent.ready.wait()
            skews = [record["seconds"] for record in bench.records if record["event"] == "clock_skew"]
            assert skews in ([-86_400], [-86_401])
            assert len(bench.plane.enrolled) == 1

    simulate(scenario)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("", None), ("yesterday", None), ("a, 99 Foo 1 1:1:1 GMT", None)],
)
def test_dates_of_http(text: str, seconds: int | None) -> None:
    assert http_date(text) == seconds
