"""What can go wrong around actions besides what is expected and answered by ``Refused``."""


class UnsafeTree(Exception):
    """An archive or a repository holds what must not be written: a path or link that leaves it, a device, too much."""

    code = "unsafe_tree"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
