import msgspec

from ostler.agent.supervision import JobOrder, Limits, StepOrder
from ostler.agent.supervisor.order import Order, Step


def test_takes_all_that_an_order_says() -> None:
    told = JobOrder(
        job_id="job_a",
        fence=3,
        steps=(StepOrder(name="s", script="true", shell="sh", env={"A": "1"}, timeout_ms=5, always=True),),
        env={"B": "2"},
        secrets=("hidden",),
        timeout_ms=7,
        interrupt_grace_ms=8,
        terminate_grace_ms=9,
        limits=Limits(memory_bytes=1, cpu_millis=2, pids=3, disk_bytes=4, log_bytes=5),
        isolation="sandbox",
        network="none",
    )
    taken = Order(msgspec.json.decode(msgspec.json.encode(told)))
    graces = ("interrupt_grace_ms", "terminate_grace_ms")
    for name in ("job_id", "fence", "env", "timeout_ms", *graces, "isolation", "network"):
        assert getattr(taken, name) == getattr(told, name)
    assert taken.attempt == "job_a.3"
    assert taken.secrets == ["hidden"]
    for name in ("name", "script", "shell", "env", "timeout_ms", "always", "working_directory"):
        assert getattr(taken.steps[0], name) == getattr(told.steps[0], name)
    limits = (taken.limits.memory_bytes, taken.limits.cpu_millis, taken.limits.pids, taken.disk_bytes, taken.log_bytes)
    assert limits == (1, 2, 3, 4, 5)


def test_defaults_are_the_same_on_both_sides() -> None:
    told = JobOrder(job_id="job_a", fence=1, steps=())
    taken = Order({"job_id": "job_a", "fence": 1, "steps": []})
    for name in ("timeout_ms", "interrupt_grace_ms", "terminate_grace_ms", "isolation", "network"):
        assert getattr(taken, name) == getattr(told, name)
    step = Step({"name": "s"})
    for name in ("script", "shell", "timeout_ms", "working_directory", "always"):
        assert getattr(step, name) == getattr(StepOrder(name="s"), name)


def test_command_lines() -> None:
    assert Step({"argv": ["ls", "-l"]}).command_line("") == ["ls", "-l"]
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "/s/0"]
    assert Step({"shell": "bash"}).command_line("/s/0") == bash
    assert Step({"shell": "sh"}).command_line("/s/0") == ["sh", "-e", "/s/0"]
    assert Step({"shell": "python3 -u {0} x"}).command_line("/s/0") == ["python3", "-u", "/s/0", "x"]
    assert Step({"shell": "python3"}).command_line("/s/0") == ["python3", "/s/0"]
