"""Logs made up on the spot, so that a million lines cost nothing to keep: each line follows from its number."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

START = 1_790_000_000_000_000  # microseconds; any fixed time will do
LIVE_RATE = 20_000
LIVE_HISTORY = 100_000

Line = tuple[str, int, int]

TORTURE = (
    "<script>window.injected = 1</script><img src=x onerror='window.injected = 1'>",
    "\x1b]8;;javascript:window.injected=1\x1b\\click me\x1b]8;;\x1b\\",
    "\x1b]0;stolen title\x07after the title",
    "javascript:window.injected=1 data:text/html,<script>window.injected=1</script> file:///etc/passwd",
    "https://example.org/path?a=1&b=<b>bold</b> and (http://example.org/in-brackets).",
    'https://example.org/"onmouseover="window.injected=1 "><svg onload=window.injected=1>',
    (
        "\x1b[31mred\x1b[0m \x1b[1;38;5;208morange\x1b[0m "
        "\x1b[38;2;1;1;1;48;2;2;2;2mnearly invisible\x1b[0m \x1b[7minverse\x1b[0m"
    ),
    "\x1b[2J\x1b[H\x1b[?1049hscreen \x1b[8mconcealed\x1b[28m \x1b[unfinished",
    "user \u202etxt.exe\u202c and \u2066isolated\u2069 and zero\u200bwidth",
    "before\rafter\x08\x08 bell\x07 nul\x00 del\x7f next\x85line \x9b31m",
    "\x1b[" + ";".join(["38", "2"] * 500) + "m many parameters",
    "\x1b" * 2000 + "]" * 2000 + "\x1b[" * 2000,
    "x" * 2_000_000,
    "\u0000" * 3000,
    "e\u0301" + "\u0301" * 500 + " \U0001f469\u200d\U0001f4bb \u0639\u0631\u0628\u064a \u4e2d\u6587",
    "::error file=<b>x</b>,line=1::<i>message</i>",
    "::group::<u>group</u>",
    "inside",
    "::endgroup::",
)


class FakeLog(NamedTuple):
    """A log by rules: how many lines there are now, and what stands in each."""

    total: Callable[[], int]
    text: Callable[[int], str]
    micros: Callable[[int], int]
    live: bool = False

    def lines(self, first: int, count: int) -> list[Line]:
        last = min(self.total(), first + count - 1)
        return [(self.text(line), self.micros(line), step_of(line)) for line in range(first, last + 1)]

    def hits(self, query: str, first: int, exact: bool) -> Iterator[tuple[int, str] | None]:
        """Lines that hold the query; None now and then, so that the caller can breathe."""
        wanted = query if exact else query.lower()
        for line in range(first, self.total() + 1):
            text = self.text(line)
            if wanted in (text if exact else text.lower()):
                yield line, text
            elif line % 5000 == 0:
                yield None


def step_of(line: int) -> int:
    return 0 if line < 40 else 1 if line < 500_000 else 2


def _numbered(lines: Sequence[str]) -> Callable[[int], str]:
    return lambda line: lines[line - 1]


def _million(line: int) -> str:
    if line % 1000 == 1:
        return f"::group::Batch {line // 1000}"
    if line % 1000 == 21:
        return "::endgroup::"
    if line % 250_000 == 0:
        return f"needle in line {line}"
    kind = ("\x1b[32mINFO\x1b[0m", "\x1b[33mWARN\x1b[0m", "\x1b[36mDEBUG\x1b[0m")[line % 3]
    name, taken, size = f"package/module_{line % 977}.py", line * 7 % 913, line * 31 % 8191
    return f"{kind} compile {name} line {line} took {taken} ms and wrote {size} bytes"


def make_logs() -> dict[str, FakeLog]:
    """All logs by the name of their job."""
    began = time.time()

    def live_total() -> int:
        return LIVE_HISTORY + int((time.time() - began) * LIVE_RATE)

    def live_micros(line: int) -> int:
        return int((began + (line - LIVE_HISTORY) / LIVE_RATE) * 1_000_000)

    def live_text(line: int) -> str:
        return f"line {line} printed {live_micros(line)} and some more text"

    def fixed(line: int) -> int:
        return START + line * 250

    return {
        "job_million": FakeLog(lambda: 1_000_000, _million, fixed),
        "job_live": FakeLog(live_total, live_text, live_micros, live=True),
        "job_torture": FakeLog(lambda: len(TORTURE), _numbered(TORTURE), fixed),
        "job_empty": FakeLog(lambda: 0, str, fixed),
        "job_build": FakeLog(lambda: len(BUILD), _numbered(BUILD), fixed),
    }


BUILD = (
    "Runner \x1b[1mbuild-2\x1b[0m, sandbox, Linux 6.12, 8 cores, 31 GiB",
    "\x1b[90m$ git fetch --depth 1 origin 4f2c1e07\x1b[0m",
    "From https://git.example.org/shop/checkout",
    " * branch            4f2c1e07 -> FETCH_HEAD",
    "::group::Install dependencies",
    "\x1b[36mResolved\x1b[0m 214 packages in 41ms",
    "\x1b[36mInstalled\x1b[0m 214 packages in 388ms",
    " \x1b[32m+\x1b[0m attrs==26.1.0",
    " \x1b[32m+\x1b[0m msgspec==0.22.0",
    " \x1b[32m+\x1b[0m starlette==1.10.0",
    "::endgroup::",
    "\x1b[1m============================= test session starts ==============================\x1b[0m",
    "platform linux -- Python 3.11.7, pytest-9.2.0",
    "collected 482 items",
    "",
    *(
        f"tests/unit/test_{name}.py \x1b[32m{'.' * dots}\x1b[0m"
        for name, dots in [("basket", 42), ("prices", 31), ("tax", 58)]
    ),
    "tests/unit/test_payment.py \x1b[32m.........\x1b[31mF\x1b[32m........\x1b[0m",
    "",
    "::warning file=tests/unit/test_tax.py,line=40::The rounding mode is deprecated",
    "=================================== FAILURES ===================================",
    "\x1b[1m\x1b[31m_________________________ test_refund_keeps_currency __________________________\x1b[0m",
    "    def test_refund_keeps_currency():",
    '        payment = Payment(Money(1250, "CHF"))',
    '>       assert payment.refund().amount == Money(1250, "CHF")',
    '\x1b[31mE       AssertionError: assert Money(1250, "EUR") == Money(1250, "CHF")\x1b[0m',
    "tests/unit/test_payment.py:118: AssertionError",
    "::error file=tests/unit/test_payment.py,line=118::A refund changed the currency",
    "\x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m481 passed\x1b[0m in 12.84s",
    "Report: https://reports.example.org/checkout/4f2c1e07?view=failures",
    "Process ended with exit code 1",
)
