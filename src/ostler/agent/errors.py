"""What stops an agent, each with a stable code, the fix and the exit code that it deserves."""


class AgentError(Exception):
    """Any reason for which an agent cannot go on."""

    code = "agent_failed"
    exit_code = 1

    def __init__(self, cause: str, *, fix: str = "") -> None:
        super().__init__(cause)
        self.fix = fix


class ConfigurationError(AgentError):
    """A setting or its file is wrong. The text names the place, the cause and the fix."""

    code = "configuration_malformed"
    exit_code = 2


class IsolationUnavailable(AgentError):
    """The configuration asks for an isolation of jobs that this version does not have; less is never given instead."""

    code = "isolation_unavailable"
    exit_code = 2


class EnrolmentRefused(AgentError):
    """The server does not accept the token; nothing can be done without another one."""

    code = "enrolment_refused"
    exit_code = 4


class ProtocolRefused(AgentError):
    """Server and agent do not speak the same protocol version."""

    code = "version_unsupported"


class StateInUse(AgentError):
    """Another agent works in the same state directory."""

    code = "state_in_use"


class SupervisorError(AgentError):
    """A supervisor could not be started; nothing of the attempt runs."""

    code = "supervisor_not_started"
