"""What a page may ask to hear of, and where a stream that was cut off goes on."""

import pytest

from ostler.server.log_followers import Place
from ostler.server.pages.live import asked


def test_topics_are_read_once_each_in_their_order() -> None:
    wanted = asked("runs,run:run_1,runs,queue,log:job_1:250,pool:p,runner:r", "")
    assert wanted.changes == ("runs", "run:run_1", "queue", "pool:p", "runner:r")
    assert wanted.logs == {"job_1": Place(0, 250)}


@pytest.mark.parametrize("topics", ["", "drain", "*", "credentials", "run:", "runs:x", "facts:r", "log:", "{id}"])
def test_nothing_else_can_be_listened_to(topics: str) -> None:
    wanted = asked(topics, "")
    assert wanted.changes == ()
    assert set(wanted.logs) <= {""}


@pytest.mark.parametrize("offset", ["", "-1", "x", "1e9", "\u0661", "9" * 400])
def test_an_offset_that_is_none_begins_at_the_start(offset: str) -> None:
    assert asked(f"log:job_1:{offset}", "").logs == {"job_1": Place(0, 0)}


def test_a_stream_goes_on_where_its_last_event_was() -> None:
    logs = asked("log:job_1:5,log:job_2:6", "job_1@2.700,job_3@1.1,nonsense").logs
    assert logs == {"job_1": Place(2, 700), "job_2": Place(0, 6)}


def test_no_page_asks_for_ever_more() -> None:
    assert len(asked(",".join(f"run:{number}" for number in range(1000)), "").changes) == 32
