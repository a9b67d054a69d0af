"""What can go wrong below a job, as opposed to in it: surprises that an executor raises."""


class ExecutorError(Exception):
    """The executor could not do its part. The job did nothing wrong; the cause is ours or the host's."""

    code = "executor_error"


class SpawnFailed(ExecutorError):
    """The command could not be started: it is missing, not executable, or the host is out of processes."""

    code = "spawn_failed"

    def __init__(self, command: str, reason: OSError) -> None:
        super().__init__(f"cannot start {command}: {reason.strerror}")
        self.command = command
        self.errno = reason.errno


class NotReady(ExecutorError):
    """A method was called outside its place in the lifecycle that the contract states."""

    code = "executor_not_ready"


class LimitUnavailable(ExecutorError):
    """A limit was demanded that this host cannot enforce."""

    code = "limit_unavailable"


class NetworkUnavailable(ExecutorError):
    """A job must be kept from the network, and this host cannot do that."""

    code = "network_unavailable"


class TreeSurvived(ExecutorError):
    """Processes of the job were still there after the kill, in uninterruptible sleep for example."""

    code = "tree_survived"
