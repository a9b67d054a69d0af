"""The layout of a run's graph: nothing overlaps, lines lead to the right, and the same jobs look the same."""

from hypothesis import given, settings, strategies as st

from ostler.server.pages.run_graph import NODE_HEIGHT, NODE_WIDTH, GraphJob, lay_out
from ostler.server.pages.views import Status

QUEUED = Status("waiting", "Queued")


def _job(identity: str, *needs: str) -> GraphJob:
    return GraphJob(identity, identity, QUEUED, needs)


@st.composite
def _graphs(draw: st.DrawFn) -> list[GraphJob]:
    count = draw(st.integers(0, 25))
    jobs = [
        _job(f"j{number}", *(f"j{each}" for each in draw(st.lists(st.integers(0, number - 1), max_size=4))))
        if number
        else _job("j0")
        for number in range(count)
    ]
    return draw(st.permutations(jobs))


@given(_graphs())
@settings(max_examples=60)
def test_every_job_has_a_place_of_its_own_to_the_right_of_what_it_needs(jobs: list[GraphJob]) -> None:
    graph = lay_out(jobs)
    placed = {node.job.id: node for node in graph.nodes}
    assert sorted(placed) == sorted(job.id for job in jobs)
    for node in graph.nodes:
        assert 0 <= node.x <= graph.width - NODE_WIDTH
        assert 0 <= node.y <= graph.height - NODE_HEIGHT
        assert all(placed[each].x < node.x for each in node.job.needs)
    for one in graph.nodes:
        for other in graph.nodes:
            apart = one.x != other.x or abs(one.y - other.y) >= NODE_HEIGHT
            assert apart or one is other
    assert lay_out(jobs) == graph


def test_what_is_implied_has_no_line_of_its_own() -> None:
    graph = lay_out([_job("a"), _job("b", "a"), _job("c", "a", "b")])
    assert len(graph.lines) == 2


def test_a_line_over_columns_passes_between_the_jobs_there() -> None:
    graph = lay_out([_job("a"), _job("b", "a"), _job("c", "b"), _job("d"), _job("e", "c", "d")])
    [height] = {node.y for node in graph.nodes if node.job.id == "d"}
    crossed = [node for node in graph.nodes if node.job.id in ("b", "c")]
    assert all(abs(node.y - height) >= NODE_HEIGHT for node in crossed)
    assert sum("H" in line for line in graph.lines) >= 1


def test_a_chain_is_a_straight_line() -> None:
    graph = lay_out([_job("a"), _job("b", "a"), _job("c", "b")])
    assert {node.y for node in graph.nodes} == {graph.nodes[0].y}
    assert all("C" not in line for line in graph.lines)


def test_what_is_not_shown_is_not_needed() -> None:
    assert lay_out([_job("a", "gone")]).lines == ()
    assert lay_out([]).nodes == ()
