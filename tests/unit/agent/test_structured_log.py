"""What the agent says of a job carries the job's id, its run and the step, whatever the form."""

from collections.abc import Mapping

from ostler.agent.logging import Level, Log, Value
from ostler.effects import system_effects
from tests.unit.agent.fakes import Bench
from tests.unit.client.simulated import simulate


def test_records_carry_the_fields_that_were_bound() -> None:
    records: list[Mapping[str, Value]] = []

    def sink(level: Level, record: Mapping[str, Value]) -> None:
        records.append(record)

    log = Log(sink, system_effects().clock).bind(job_id="job_1", run_id="run_1")
    log.info("job_started")
    log.bind(step="build").warning("step_slow", seconds=9)
    log.debug("unseen")
    assert [{key: record[key] for key in record if key != "time"} for record in records] == [
        {"level": "info", "event": "job_started", "job_id": "job_1", "run_id": "run_1"},
        {"level": "warning", "event": "step_slow", "job_id": "job_1", "run_id": "run_1", "step": "build", "seconds": 9},
    ]


def test_what_is_said_of_a_step_carries_its_number() -> None:
    """Row 344; also that a name, which may be a whole command line with whatever is in it, stays out of the log."""
    said: dict[object, dict[str, object]] = {}

    async def scenario() -> None:
        async with Bench() as bench:
            job = await bench.plane.submit("hello", "echo hello")
            await bench.plane.until(lambda: job.result)
            said.update((record["event"], record) for record in bench.records)

    simulate(scenario)
    for event in ("step_started", "step_finished"):
        record = said[event]
        assert record["step"] == 0
        assert {"job_id", "run_id", "fence", "runner"} <= record.keys()
        assert "step 0" not in record.values()
    assert {"conclusion", "exit_code", "duration_ms", "cpu_ms", "memory_peak_bytes"} <= said["step_finished"].keys()


def test_the_debug_switch_shows_more() -> None:
    events: list[Value] = []

    def sink(level: Level, record: Mapping[str, Value]) -> None:
        events.append(record["event"])

    Log(sink, system_effects().clock, debug=True).debug("seen")
    Log(sink, system_effects().clock).debug("unseen")
    assert events == ["seen"]
