"""What can go wrong in a simulation, as opposed to in the program that is simulated."""


class NodeDown(BaseException):
    """The process that called this no longer exists.

    Not an `Exception`, because nothing in a program may handle its own death: whatever its `except` and `finally`
    blocks still try is refused with this again.
    """

    code = "node_down"


class SimulationFailed(Exception):
    """A simulated run ended in a way that is a finding; the subclasses say which."""

    code = "simulation_failed"


class Deadlock(SimulationFailed):
    """Nothing is ready and no timer is set, yet the run is not over; the message lists who waits where."""

    code = "simulation_deadlock"


class LimitExceeded(SimulationFailed):
    """The run took more steps or more virtual time than it was allowed: likely a livelock."""

    code = "simulation_limit"


class Unhandled(SimulationFailed):
    """A task or callback raised and nobody looked."""

    code = "simulation_unhandled"


class InvariantViolated(SimulationFailed):
    """The observed history breaks a rule that must always hold."""

    code = "invariant_violated"


class RealWorldTouched(Exception):
    """Simulated code reached for a real socket, process, thread or signal."""

    code = "simulation_real_io"


class PromiseBroken(SimulationFailed):
    """Something that was promised had not happened long after every trouble was over."""

    code = "promise_broken"
