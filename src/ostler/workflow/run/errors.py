"""What cannot be carried out though the file has the right form: found when an expression has its value."""


class Misconfigured(Exception):
    """What a workflow says cannot be done: an expression that fails, or a value that does not fit its place.

    The run goes on: the job that it concerns fails with the cause `configuration` and this message as its note.
    """

    code = "workflow_misconfigured"
