"""Ids sort and never repeat, tokens are safe in URLs, and seeded chance repeats itself."""

import re
from concurrent.futures import ThreadPoolExecutor

from ostler.effects import Micros, SortableIds, seeded_random, system_effects


class FrozenClock:
    """A clock that shows what the test sets."""

    def __init__(self, now: int) -> None:
        self.time = now

    def now(self) -> Micros:
        return Micros(self.time)

    def monotonic(self) -> float:
        return self.time / 1e6


def ids_at(now: int) -> tuple[FrozenClock, SortableIds]:
    clock = FrozenClock(now)
    return clock, SortableIds(clock, seeded_random(1))


def test_an_id_is_its_prefix_and_26_characters() -> None:
    assert re.fullmatch(r"run_[0-9a-hjkmnp-tv-z]{26}", system_effects().ids.new("run"))


def test_the_time_of_an_id_can_be_read_back() -> None:
    _, ids = ids_at(1_700_000_000_000_000)
    assert ids.new("job").startswith("job_01hf7yat00")


def test_ids_grow_while_the_clock_stands_still() -> None:
    _, ids = ids_at(1_700_000_000_000_000)
    made = [ids.new("job") for _ in range(1000)]
    assert made == sorted(set(made))


def test_ids_grow_when_the_clock_jumps_back() -> None:
    clock, ids = ids_at(1_700_000_000_000_000)
    before = ids.new("job")
    clock.time -= 86_400_000_000
    assert ids.new("job") > before


def test_ids_of_later_milliseconds_sort_later() -> None:
    clock, ids = ids_at(1_700_000_000_000_000)
    before = ids.new("job")
    clock.time += 1000
    assert ids.new("job") > before


def test_threads_never_share_an_id() -> None:
    _, ids = ids_at(1_700_000_000_000_000)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(ids.new, ["job"] * 2000))
    assert len(set(made)) == 2000


def test_a_token_is_safe_in_a_url_and_as_long_as_asked() -> None:
    effects = system_effects()
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", effects.random.token())
    assert len(effects.random.token(16)) == 22


def test_a_seeded_source_repeats_itself() -> None:
    first, second = seeded_random(7), seeded_random(7)
    numbers, others = list(range(9)), list(range(9))
    first.shuffle(numbers)
    second.shuffle(others)
    assert numbers == others
    assert first.below(1000) == second.below(1000)
    assert first.uniform(0, 1) == second.uniform(0, 1)
    assert first.choice("abcdef") == second.choice("abcdef")


def test_the_system_clock_counts_microseconds() -> None:
    clock = system_effects().clock
    assert 1_600_000_000_000_000 < clock.now() < 10_000_000_000_000_000
    assert clock.monotonic() <= clock.monotonic()
