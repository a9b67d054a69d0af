from ostler.agent.shipping import CARRIED_BYTES, CARRIED_EVENTS, EVENT_BATCH, EVENT_BATCH_BYTES, _first
from ostler.agent.supervision import StepEvent
from ostler.protocol.v1.runner_messages import Annotation


def event(number: int, size: int) -> StepEvent:
    half = "x" * (size // 2)
    remark = Annotation(level="notice", message=half)
    return StepEvent(seq=number, kind="step_finished", at_micros=0, step=0, summary=half, annotations=(remark,))


def test_messages_are_bounded_by_number_and_by_what_steps_wrote() -> None:
    small = [event(number, 10) for number in range(600)]
    assert len(_first(small, EVENT_BATCH, EVENT_BATCH_BYTES)) == EVENT_BATCH
    assert len(_first(small, CARRIED_EVENTS, CARRIED_BYTES)) == CARRIED_EVENTS
    large = [event(number, 1 << 20) for number in range(5)]
    assert len(_first(large, EVENT_BATCH, EVENT_BATCH_BYTES)) == 2
    assert _first(large, CARRIED_EVENTS, CARRIED_BYTES) == []
