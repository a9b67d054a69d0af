"""Views with believable content, for looking at pages without a server behind them."""

from ostler.server.pages.views import (
    Button,
    Choice,
    JobView,
    Link,
    NearRunner,
    NewPoolView,
    PoolRow,
    PoolsView,
    PoolTokenView,
    PoolView,
    Problem,
    ProblemView,
    QueueRow,
    QueueView,
    RunnerRow,
    RunnersView,
    RunnerView,
    RunRow,
    RunsView,
    RunView,
    SignInView,
    Status,
    StepView,
    WaterfallBar,
    WaterfallRow,
)

NOW = 1_790_000_000_000_000
MINUTE = 60_000_000

OK, FAILED = Status("ok", "Succeeded"), Status("failed", "Failed")
RUNNING, QUEUED, CANCELLED = Status("running", "Running"), Status("waiting", "Queued"), Status("cancelled", "Cancelled")
HOSTED, BUILD, GPU = Link("hosted", "/pools/pool_1"), Link("build", "/pools/pool_2"), Link("gpu-west", "/pools/pool_3")
LONGEST = "a_name_without_a_single_space_that_is_as_long_as_a_name_may_be64"
LONG = Link(LONGEST, "/pools/pool_5")
POOLS = (
    Choice("", "All pools", chosen=True),
    Choice("pool_1", "hosted"),
    Choice("pool_2", "build"),
    Choice("pool_5", LONGEST),
)
STATES = (Choice("", "All states", chosen=True), Choice("running", "Running"), Choice("failed", "Failed"))


def run_row(number: int, status: Status, title: str, **changes: object) -> RunRow:
    values: dict[str, object] = {
        "id": f"run_{number}",
        "title": title,
        "status": status,
        "target": "shop/checkout",
        "trigger": "push by ana to main",
        "pool": BUILD,
        "created_at": NOW - number * 7 * MINUTE,
        "started_at": NOW - number * 7 * MINUTE,
        "duration_ms": number * 41_300,
    }
    return RunRow(**{**values, **changes})  # pyright: ignore[reportArgumentType]


RUNS = RunsView(
    rows=(
        run_row(1, RUNNING, "Round refunds in the payment's own currency", duration_ms=None),
        run_row(
            2, QUEUED, "Nightly scan of cloud accounts", started_at=None, duration_ms=None, pool=GPU, trigger="schedule"
        ),
        run_row(3, FAILED, "Check baskets before taking stock", cause="Step failed: Test exited with 1"),
        run_row(4, OK, "Deploy checkout to staging", target="shop/infrastructure", trigger="approved by milo"),
        run_row(
            5, FAILED, "Update the list of countries", cause="Runner lost: build-4 was not heard of for 10 minutes"
        ),
        run_row(6, FAILED, LONGEST * 3, pool=LONG, trigger=LONGEST, cause=f"Step failed: {LONGEST} exited with 1"),
        *(run_row(number, OK, f"Update dependency {number} of the storefront") for number in range(7, 16)),
    ),
    states=STATES,
    pools=POOLS,
    next_href="/runs?before=run_15",
)
NO_RUNS = RunsView(rows=(), first_command="ostler run examples/hello.yaml")


def _bars(queued: int, setup: int, run: int, start: int = 0) -> tuple[WaterfallBar, ...]:
    return (
        WaterfallBar("queued", start, queued, f"Queued {queued * 20}ms"),
        WaterfallBar("setup", start + queued, setup, f"Setup {setup * 20}ms"),
        WaterfallBar("run", start + queued + setup, run, f"Run {run * 20}ms"),
    )


def run_view(job: str, *, live: bool, status: Status, steps: tuple[StepView, ...]) -> RunView:
    rows = (
        WaterfallRow(
            name="lint", href="/runs/run_1/jobs/job_lint", status=OK, bars=_bars(20, 40, 210), duration_ms=5_400
        ),
        WaterfallRow(
            name="test",
            href=f"/runs/run_1/jobs/{job}",
            status=status,
            bars=_bars(30, 90, 720),
            duration_ms=None if live else 16_800,
            started_at=NOW,
            current=True,
        ),
        WaterfallRow(
            name="package",
            href="/runs/run_1/jobs/job_package",
            status=Status("skipped", "Skipped"),
            bars=(),
            duration_ms=0,
        ),
    )
    failure = Problem(
        "Step failed.",
        "Test exited with 1 after 12.8 seconds.",
        "The last lines of its log say why. Run it here: ostler run --job test",
        "step_failed",
    )
    return RunView(
        id="run_1",
        title="Round refunds in the payment's own currency",
        status=status,
        target="shop/checkout",
        facts=(("Commit", "4f2c1e0"), ("Branch", "main"), ("By", "ana")),
        created_at=NOW - MINUTE,
        started_at=NOW - MINUTE,
        duration_ms=None if live else 16_800,
        live=live,
        can_cancel=live,
        can_rerun=not live,
        failure=failure if status is FAILED else None,
        waterfall=rows,
        job=JobView(
            id=job,
            name="test",
            status=status,
            attempt=1,
            isolation="sandbox",
            pool=BUILD,
            runner=Link("build-2", "/runners/rnr_2"),
            started_at=NOW,
            live=live,
            steps=steps,
        ),
    )


def _step(index: int, name: str, status: Status, line: int | None, taken: int | None) -> StepView:
    return StepView(index=index, name=name, status=status, first_line=line, started_at=NOW, duration_ms=taken)


SKIPPED = Status("skipped", "Skipped")
RUN_VIEWS = {
    "job_build": run_view(
        "job_build",
        live=False,
        status=FAILED,
        steps=(
            _step(0, "Set up", OK, 1, 140),
            _step(1, "Check out", OK, 2, 212),
            _step(2, "Install", OK, 5, 1_930),
            _step(3, "Test", FAILED, 12, 12_840),
            _step(4, "Publish report", SKIPPED, None, 0),
        ),
    ),
    "job_million": run_view(
        "job_million",
        live=False,
        status=OK,
        steps=(
            _step(0, "Set up", OK, 1, 140),
            _step(1, "Compile", OK, 40, 118_000),
            _step(2, "Test", OK, 500_000, 92_000),
        ),
    ),
    "job_live": run_view("job_live", live=True, status=RUNNING, steps=(_step(0, "Print", RUNNING, 1, None),)),
    "job_torture": run_view("job_torture", live=False, status=FAILED, steps=(_step(0, "<b>Bold</b>", FAILED, 1, 10),)),
    "job_empty": run_view("job_empty", live=False, status=OK, steps=()),
}

WAITING = (
    QueueRow(
        job_id="job_a",
        name="train",
        run=Link("Retrain the ranking model", "/runs/run_2"),
        pool=GPU,
        place=1,
        priority=5,
        queued_at=NOW - 4 * MINUTE,
        why="No live runner of pool gpu-west has the label gpu=a100.",
        estimate_ms=None,
        fix="add the label gpu=a100 to gpu-7, or remove it from the job",
        near=(
            NearRunner(Link("gpu-7", "/runners/rnr_7"), "lacks the label gpu=a100"),
            NearRunner(Link("gpu-8", "/runners/rnr_8"), "is paused by milo: new driver, until 18:00"),
        ),
    ),
    QueueRow(
        job_id="job_b",
        name="apply",
        run=Link("Deploy checkout to production", "/runs/run_3"),
        pool=BUILD,
        place=2,
        queued_at=NOW - 2 * MINUTE,
        why="Workspace checkout-production is held by another run that changes state: run 4f2c1e0.",
        estimate_ms=95_000,
        fix="finish or cancel that run",
    ),
    QueueRow(
        job_id="job_c",
        name="test",
        run=Link("Update dependency 9 of the storefront", "/runs/run_9"),
        pool=BUILD,
        place=3,
        queued_at=NOW - MINUTE,
        why="All 4 runners of pool build that match are busy.",
        estimate_ms=30_000,
        fix="start another runner with the label linux",
    ),
    QueueRow(
        job_id="job_d",
        name=LONGEST,
        run=Link(LONGEST * 3, "/runs/run_10"),
        pool=LONG,
        place=4,
        queued_at=NOW - MINUTE,
        why=f"No live runner of pool {LONGEST} has the label {LONGEST}.",
        fix=f"add the label {LONGEST} to {LONGEST}",
        near=(NearRunner(Link(LONGEST, "/runners/rnr_9"), f"lacks the label {LONGEST}"),),
        labels=(LONGEST,),
    ),
)
QUEUE = QueueView(rows=WAITING, total=4, running=4, pools=POOLS)

POOL_ROWS = (
    PoolRow(
        id="pool_1",
        name="hosted",
        description="Runs on this server",
        status=Status("ok", "Healthy"),
        labels=("linux", "x64"),
        live_runners=2,
        busy_runners=1,
        hosted=True,
        default=True,
    ),
    PoolRow(
        id="pool_2",
        name="build",
        description="Machines in the server room",
        status=Status("ok", "Healthy"),
        labels=("linux", "x64", "docker"),
        live_runners=4,
        busy_runners=4,
        waiting_jobs=2,
    ),
    PoolRow(id="pool_3", name="gpu-west", status=Status("off", "Offline"), labels=("linux", "gpu"), waiting_jobs=1),
    PoolRow(id="pool_4", name="mac-minis", status=Status("idle", "Inactive"), labels=("macos", "arm64")),
    PoolRow(id="pool_5", name=LONGEST, description=LONGEST, status=Status("idle", "Inactive"), labels=(LONGEST,)),
)
POOLS_VIEW = PoolsView(POOL_ROWS, can_create=True)
RUNNER_ROWS = (
    RunnerRow(
        id="rnr_2",
        name="build-2",
        status=Status("running", "Busy"),
        pool=BUILD,
        labels=("linux", "x64", "docker"),
        job=Link("test", "/runs/run_1"),
        last_seen_at=NOW,
        version="0.1.0",
        platform="Linux x64",
    ),
    RunnerRow(
        id="rnr_3",
        name="build-3",
        status=Status("idle", "Idle"),
        pool=BUILD,
        labels=("linux", "x64"),
        last_seen_at=NOW,
        version="0.1.0",
        platform="Linux x64",
    ),
    RunnerRow(
        id="rnr_7",
        name="gpu-7",
        status=Status("attention", "Paused"),
        admin="New driver, until 18:00",
        pool=GPU,
        labels=("linux", "gpu"),
        last_seen_at=NOW - 30 * MINUTE,
        version="0.1.0",
        platform="Linux arm64",
    ),
    RunnerRow(id="rnr_8", name="mac-1", status=Status("off", "Offline"), pool=Link("mac-minis", "/pools/pool_4")),
    RunnerRow(
        id="rnr_9",
        name=LONGEST,
        status=Status("running", "Busy"),
        admin=LONGEST,
        pool=LONG,
        labels=(LONGEST,),
        job=Link(LONGEST, "/runs/run_10"),
        last_seen_at=NOW,
        version="0.1.0",
        platform="Linux x64",
    ),
)
JOIN = ("ostler agent configure --url https://ci.example.org --token otk_…", "ostler agent run")
RUNNERS = RunnersView(rows=RUNNER_ROWS, pools=POOLS)
POOL = PoolView(
    pool=POOL_ROWS[1],
    facts=(("Isolation", "sandbox"), ("Job kinds", "ci, deployment")),
    runners=RUNNER_ROWS[:2],
    waiting=WAITING[1:],
    buttons=(
        Button(text="Make default", action="/pools/pool_2/default"),
        Button(text="Disable", action="/pools/pool_2/disable", danger=True),
    ),
    can_join=True,
)
RUNNER = RunnerView(
    runner=RUNNER_ROWS[0],
    capabilities=(("git", "2.47.1"), ("docker", "29.1.0")),
    system=(("Operating system", "Debian 13"), ("Cores", "8"), ("Memory", "31 GiB")),
    recent=RUNS.rows[2:6],
    buttons=(Button(text="Pause", action="/runners/rnr_2/pause"), Button(text="Drain", action="/runners/rnr_2/drain")),
)
NEW_POOL = NewPoolView(name="x", problems={"name": "A name has 3 to 64 characters, this one has 1."})
POOL_TOKEN = PoolTokenView(pool=BUILD, secret="ostr_v8Yw", commands=JOIN, uses=2, expires_at=NOW)
SIGN_IN_LINK = SignInView(code="one-time-code")
PROBLEM = ProblemView(
    404,
    Problem(
        "This run is not here",
        "No run is called run_nope, or you may not see it.",
        "Look for it in the list of runs, or ask for access to its project.",
        "run_not_found",
        "ostler run list",
    ),
    "req_01k9",
)
SIGN_IN = SignInView(problem="This token is not valid. It may have been revoked.")
