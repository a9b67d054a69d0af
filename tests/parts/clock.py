"""libfaketime: lets one real process live at another time, without a test switch in the product."""

from pathlib import Path

from tests.parts.errors import PartMissing


def find_faketime() -> Path:
    """The library to preload; raises PartMissing where there is none."""
    for folder in ("/usr/lib", "/usr/lib64", "/opt/homebrew/lib", "/usr/local/lib"):
        found = sorted(Path(folder).glob("**/libfaketime*.so.1"))
        for path in found:
            if path.name == "libfaketimeMT.so.1":
                return path
    raise PartMissing("libfaketime is not installed: `apt-get install libfaketime`")
