"""Records additions to the protocol: ``.venv/bin/python -m tests.contract.protocol.refresh``.

It refuses to record a change that breaks others. Before the first release nobody else speaks the protocol yet;
``--before-release`` is for that time only.
"""

import sys

import msgspec

from ostler import __version__
from tests.contract.protocol.compatibility import differences
from tests.contract.protocol.recorded import record
from tests.contract.protocol.surface import GOLDEN, golden, surface


def main(arguments: list[str]) -> int:
    """Write the golden surface and the examples of what is new."""
    found = differences(golden(), surface()) if GOLDEN.exists() else []
    for difference in found:
        sys.stderr.write(f"{'incompatible' if difference.incompatible else 'added'}: {difference.text}\n")
    if any(difference.incompatible for difference in found) and "--before-release" not in arguments:
        sys.stderr.write("Nothing was written: version 1 only grows. Make it an addition, or start version 2.\n")
        return 1
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_bytes(msgspec.json.format(msgspec.json.encode(surface()), indent=1) + b"\n")
    for path in record(__version__):
        sys.stderr.write(f"recorded: {path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
