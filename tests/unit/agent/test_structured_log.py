"""What the agent says of a job carries the job's id, its run and the step, whatever the form."""

from collections.abc import Mapping

from ostler.agent.logging import Level, Log, Value
from ostler.effects import system_effects


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


def test_the_debug_switch_shows_more() -> None:
    events: list[Value] = []

    def sink(level: Level, record: Mapping[str, Value]) -> None:
        events.append(record["event"])

    Log(sink, system_effects().clock, debug=True).debug("seen")
    Log(sink, system_effects().clock).debug("unseen")
    assert events == ["seen"]
