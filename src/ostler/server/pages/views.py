"""What the pages show, as frozen structs: the contract between use cases and templates.

A template gets exactly one of the views named ``…View`` below as ``view`` (and the page's frame as ``page``) and needs
nothing else: no query, no clock, no permission check happens while a page is drawn. Times are integer microseconds
UTC, durations integer milliseconds; templates write them out with the filters of ``rendering``. Sentences such as the
reason for which a job waits are made by the use cases, not here.
"""

from typing import Literal

from msgspec import Struct

Tone = Literal["ok", "failed", "running", "setup", "waiting", "attention", "cancelled", "skipped", "idle", "off"]
Section = Literal["runs", "workflows", "queue", "pools", "runners", ""]
Phase = Literal["queued", "setup", "run"]


class Status(Struct, frozen=True):
    """A state as people read it; the tone chooses colour and shape."""

    tone: Tone
    label: str


class Link(Struct, frozen=True):
    """A place to go to."""

    text: str
    href: str


class Choice(Struct, frozen=True):
    """One entry of a filter."""

    value: str
    text: str
    chosen: bool = False


class Problem(Struct, frozen=True):
    """An error as a page shows it: what happened, why, and what mends it."""

    title: str
    cause: str
    fix: str
    code: str
    command: str = ""


class PageFrame(Struct, frozen=True):
    """What surrounds every page. ``waiting`` is the number beside "Queue" in the navigation."""

    title: str
    section: Section = ""
    person: str = ""
    csrf_token: str = ""
    waiting: int = 0


class SignInView(Struct, frozen=True):
    """``sign_in.html``: ``next`` is where to go afterwards, ``problem`` what was wrong with the last try.

    A sign-in link gives its ``code``; then there is nothing to type, only a button to press.
    """

    next: str = "/runs"
    problem: str = ""
    code: str = ""
    command: str = "ostler token create --api"


class ProblemView(Struct, frozen=True):
    """``problem.html``: any error that is a page of its own."""

    status: int
    problem: Problem
    request_id: str = ""


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


class RunRow(Struct, frozen=True, kw_only=True):
    """One run in a list. ``duration_ms`` of a running one is None; it then counts from ``started_at``."""

    id: str
    title: str
    status: Status
    target: str
    trigger: str
    pool: Link | None = None
    cause: str = ""
    created_at: int
    started_at: int | None = None
    duration_ms: int | None = None


class RunsView(Struct, frozen=True, kw_only=True):
    """``runs.html`` and ``fragments/runs.html``. ``query`` repeats the filter for the live refresh (`state=failed`).

    ``first_command`` is shown while the installation has no run at all; ``filtered`` tells that from no match.
    """

    rows: tuple[RunRow, ...]
    states: tuple[Choice, ...] = ()
    pools: tuple[Choice, ...] = ()
    search: str = ""
    query: str = ""
    filtered: bool = False
    next_href: str = ""
    first_command: str = "ostler run"


class StepView(Struct, frozen=True, kw_only=True):
    """One step of a job. ``first_line`` is the line of the log where it began, None before it did."""

    index: int
    name: str
    status: Status
    first_line: int | None = None
    started_at: int | None = None
    duration_ms: int | None = None


class WaterfallBar(Struct, frozen=True):
    """One phase of a job; ``start`` and ``width`` are thousandths of the run's whole time."""

    phase: Phase
    start: int
    width: int
    label: str


class WaterfallRow(Struct, frozen=True, kw_only=True):
    """The phases of one job; ``current`` marks the job whose log is shown.

    A row with ``step`` is one of its steps; ``href`` is empty while nothing can be shown of it.
    """

    name: str
    href: str
    status: Status
    bars: tuple[WaterfallBar, ...]
    duration_ms: int | None = None
    started_at: int | None = None
    current: bool = False
    step: bool = False


class JobView(Struct, frozen=True, kw_only=True):
    """The job whose steps and log the run page shows.

    ``why`` says why it waits, if it does, and ``fix`` what would start it now. ``attempt`` is 0 before the first;
    ``live`` until its log is complete.
    """

    id: str
    name: str
    status: Status
    attempt: int
    isolation: str
    pool: Link | None = None
    runner: Link | None = None
    why: str = ""
    fix: str = ""
    started_at: int | None = None
    live: bool
    steps: tuple[StepView, ...] = ()


class RunView(Struct, frozen=True, kw_only=True):
    """``run.html`` and ``fragments/run.html``. ``facts`` are pairs such as ("Commit", "4f2c1e0").

    ``note`` says why it cannot be run again, where one might expect that it can. Of a workflow's job ``back`` leads to
    the whole run, ``again`` runs it once more with all that needs it, and ``command`` runs the same on the reader's
    own machine.
    """

    id: str
    title: str
    status: Status
    target: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    created_at: int
    started_at: int | None = None
    duration_ms: int | None = None
    live: bool
    can_cancel: bool = False
    can_rerun: bool = False
    note: str = ""
    failure: Problem | None = None
    waterfall: tuple[WaterfallRow, ...] = ()
    back: Link | None = None
    again: str = ""
    command: str = ""
    job: JobView


# ── queue ────────────────────────────────────────────────────────────────────────────────────────


class NearRunner(Struct, frozen=True):
    """A runner that nearly matches a waiting job, and what it lacks."""

    runner: Link
    lacks: str


class QueueRow(Struct, frozen=True, kw_only=True):
    """One waiting job: ``why`` is the sentence with the unmet condition, ``fix`` what would start it now."""

    job_id: str
    name: str
    run: Link
    pool: Link | None
    place: int
    priority: int = 0
    labels: tuple[str, ...] = ()
    queued_at: int
    why: str
    fix: str = ""
    estimate_ms: int | None = None
    near: tuple[NearRunner, ...] = ()


class QueueView(Struct, frozen=True, kw_only=True):
    """``queue.html`` and ``fragments/queue.html``."""

    rows: tuple[QueueRow, ...]
    total: int
    running: int = 0
    pools: tuple[Choice, ...] = ()
    query: str = ""
    filtered: bool = False
    next_href: str = ""


# ── pools and runners ────────────────────────────────────────────────────────────────────────────


class PoolRow(Struct, frozen=True, kw_only=True):
    """One pool in the list."""

    id: str
    name: str
    description: str = ""
    status: Status
    labels: tuple[str, ...] = ()
    live_runners: int = 0
    busy_runners: int = 0
    waiting_jobs: int = 0
    hosted: bool = False
    default: bool = False


class PoolsView(Struct, frozen=True):
    """``pools.html`` and ``fragments/pools.html``."""

    rows: tuple[PoolRow, ...]
    can_create: bool = False


class RunnerRow(Struct, frozen=True, kw_only=True):
    """One runner in a list. ``admin`` is the note of a pause, drain or quarantine, if there is one.

    ``last_seen_at`` is None while it is ``live``: its heartbeats are too many to tell the page of each.
    """

    id: str
    name: str
    status: Status
    admin: str = ""
    pool: Link | None = None
    labels: tuple[str, ...] = ()
    job: Link | None = None
    live: bool = False
    last_seen_at: int | None = None
    version: str = ""
    platform: str = ""


class RunnersView(Struct, frozen=True, kw_only=True):
    """``runners.html`` and ``fragments/runners.html``."""

    rows: tuple[RunnerRow, ...]
    pools: tuple[Choice, ...] = ()
    search: str = ""
    query: str = ""
    filtered: bool = False


class Button(Struct, frozen=True, kw_only=True):
    """Something that can be done, as a form of one button."""

    text: str
    action: str
    main: bool = False
    danger: bool = False


class PoolView(Struct, frozen=True, kw_only=True):
    """``pool.html`` and ``fragments/pool.html``."""

    pool: PoolRow
    facts: tuple[tuple[str, str], ...] = ()
    runners: tuple[RunnerRow, ...] = ()
    waiting: tuple[QueueRow, ...] = ()
    buttons: tuple[Button, ...] = ()
    can_join: bool = False


class PoolTokenView(Struct, frozen=True, kw_only=True):
    """``pool_token.html``: a registration token, shown this once. ``commands`` add a runner with it, in order."""

    pool: Link
    secret: str
    commands: tuple[str, ...]
    uses: int
    expires_at: int


class NewPoolView(Struct, frozen=True, kw_only=True):
    """``pool_new.html``: what was typed, and by field what is wrong with it."""

    name: str = ""
    description: str = ""
    labels: str = ""
    multiple: bool = True
    problems: dict[str, str] = {}


class RunnerView(Struct, frozen=True, kw_only=True):
    """``runner.html`` and ``fragments/runner.html``. ``buttons`` are what may be decided about it now."""

    runner: RunnerRow
    capabilities: tuple[tuple[str, str], ...] = ()
    system: tuple[tuple[str, str], ...] = ()
    recent: tuple[RunRow, ...] = ()
    buttons: tuple[Button, ...] = ()


# ── the palette ──────────────────────────────────────────────────────────────────────────────────


class PaletteEntry(Struct, frozen=True):
    """A place that the command palette offers."""

    title: str
    detail: str
    href: str


class PaletteReply(Struct, frozen=True):
    """The answer to ``GET /palette?q=…``, as JSON."""

    entries: tuple[PaletteEntry, ...]
