from ostler.agent.supervisor.ladder import INTERRUPT, KILL, REST, TERMINATE, Ladder


def climb(ladder: Ladder, until: int) -> list[tuple[int, int]]:
    return [(now, rung) for now in range(until) if (rung := ladder.due(now)) != REST]


def test_rests_until_asked() -> None:
    ladder = Ladder(5, 3)
    assert climb(ladder, 20) == []
    assert not ladder.begun
    assert ladder.deadline is None


def test_escalates_by_its_graces() -> None:
    ladder = Ladder(5, 3)
    ladder.begin(2)
    assert climb(ladder, 30) == [(2, INTERRUPT), (7, TERMINATE), (10, KILL)]


def test_beginning_again_changes_nothing() -> None:
    ladder = Ladder(5, 3)
    ladder.begin(0)
    assert ladder.due(0) == INTERRUPT
    ladder.begin(4)
    assert ladder.deadline == 5
    assert ladder.due(4) == REST
    assert ladder.due(5) == TERMINATE


def test_kill_overtakes() -> None:
    ladder = Ladder(5, 3)
    ladder.begin(0)
    assert ladder.due(0) == INTERRUPT
    ladder.kill(1)
    assert ladder.due(1) == KILL
    ladder.begin(2)
    ladder.kill(2)
    assert climb(ladder, 30) == []


def test_reset_forgets() -> None:
    ladder = Ladder(0, 0)
    ladder.kill(0)
    assert ladder.due(0) == KILL
    ladder.reset()
    assert not ladder.begun
    ladder.begin(9)
    assert ladder.due(9) == INTERRUPT
