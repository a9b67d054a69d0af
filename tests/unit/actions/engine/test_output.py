from hypothesis import given, strategies as st

from ostler.actions.engine.output import LONGEST_LINE, Output


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self, *, every_line: bool = False) -> None:
        self.every_line = every_line
        self.texts: list[bytes] = []
        self.lines: list[bytes] = []
        self.all = b""

    def text(self, data: bytes) -> None:
        assert data
        self.texts.append(data)
        self.all += data

    def line(self, data: bytes) -> None:
        assert b"\n" not in data[:-1]
        self.lines.append(data)
        self.all += data


PIECES = st.lists(
    st.sampled_from([b"::", b"##[", b"\n", b" ", b"a", b":", b"#", b"::error::x", b"prompt> "]), max_size=30
)


@given(pieces=PIECES, whole=st.booleans(), every=st.booleans(), cuts=st.lists(st.integers(1, 7), min_size=1))
def test_however_it_is_cut_nothing_is_lost_and_no_command_missed(
    pieces: list[bytes], whole: bool, every: bool, cuts: list[int]
) -> None:
    data = b"".join(pieces)
    heard = Heard(every_line=every)
    output = Output(heard, whole_lines=whole)
    position = turn = 0
    while position < len(data):
        size = cuts[turn % len(cuts)]
        output.feed(data[position : position + size])
        position += size
        turn += 1
    output.finish()
    assert heard.all == data
    commands = [line for line in data.splitlines(keepends=True) if line.lstrip().startswith(b"::")]
    assert [line for line in heard.lines if line.lstrip().startswith(b"::")] == commands


def test_plain_output_passes_in_one_piece() -> None:
    heard = Heard()
    Output(heard).feed(b"a std::vector\n" * 1000)
    assert (len(heard.texts), heard.lines) == (1, [])


def test_a_prompt_is_seen_at_once_and_a_command_is_not_shown_early() -> None:
    heard = Heard()
    output = Output(heard)
    output.feed(b"name? ")
    assert heard.texts == [b"name? "]
    output.feed(b"ann\n::add-")
    output.feed(b"mask::x")
    assert heard.lines == []
    output.feed(b"\n")
    assert heard.lines == [b"::add-mask::x\n"]


def test_an_endless_line_is_let_go() -> None:
    heard = Heard()
    output = Output(heard, whole_lines=True)
    output.feed(b"x" * LONGEST_LINE)
    assert len(heard.all) == LONGEST_LINE
