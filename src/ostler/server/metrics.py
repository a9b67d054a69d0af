"""What the control plane counts, in Prometheus form. Labels are few and bounded: never an id, a name or a path."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_WAITS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)


class Metrics:
    """One registry per application, so that two servers in one process do not share counters."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._calls: dict[tuple[str, int], Counter] = {}
        self.calls = Counter(
            "ostler_calls_total", "Calls by endpoint and status.", ("endpoint", "status"), registry=self.registry
        )
        self.held_polls = Gauge("ostler_held_polls", "Polls held open now.", registry=self.registry)
        self.claims = Counter("ostler_claims_total", "Jobs handed to runners.", registry=self.registry)
        self.queue_wait = Histogram(
            "ostler_queue_wait_seconds",
            "Time from submission to claim.",
            registry=self.registry,
            buckets=_WAITS,
        )
        self.jobs_finished = Counter(
            "ostler_jobs_finished_total", "Jobs that ended, by conclusion.", ("conclusion",), registry=self.registry
        )
        self.log_bytes = Counter("ostler_log_bytes_total", "Log text received.", registry=self.registry)
        self.authentication_failures = Counter(
            "ostler_authentication_failures_total", "Refused credentials.", ("kind",), registry=self.registry
        )
        self.leases_lapsed = Counter("ostler_leases_lapsed_total", "Leases that lapsed.", registry=self.registry)
        self.loop_failures = Counter(
            "ostler_loop_failures_total", "Failures of background loops.", ("loop",), registry=self.registry
        )
        self.queue_depth = Gauge("ostler_queue_depth", "Jobs waiting.", registry=self.registry)
        self.runners = Gauge("ostler_runners", "Runners by status.", ("status",), registry=self.registry)

    def count_call(self, endpoint: str, status: int) -> None:
        """Count one answered call."""
        counter = self._calls.get((endpoint, status))
        if counter is None:
            counter = self._calls[endpoint, status] = self.calls.labels(endpoint, str(status))
        counter.inc()

    def exposition(self) -> bytes:
        """Return everything in the text format."""
        return generate_latest(self.registry)
