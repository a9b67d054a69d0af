"""Log text that looks like a build's: the same bytes in every run, neither random nor all alike."""

from functools import lru_cache

_WORDS: tuple[str, ...] = tuple(
    """
    Compiling Downloading Installing Running Checking Linking test passed failed skipped warning error module package
    target cache layer digest provider resource created updated destroyed in seconds
    """.split()  # noqa: SIM905 (a list of quoted words reads worse)
)


@lru_cache(4)
def log_text(size: int, *, line_bytes: int = 100) -> bytes:
    """So many bytes of lines of about so many bytes each."""
    lines: list[str] = []
    length = 0
    state: int = 0
    while length < size:
        line: str = f"[{len(lines) // 50:05d}.{len(lines) * 37 % 1000:03d}]"
        while len(line) < line_bytes - 1:
            state = (state * 1_103_515_245 + 12_345) % 2**31
            word: str = _WORDS[(state >> 16) % len(_WORDS)] if state & 0x700 else f"{state:08x}"
            line = f"{line} {word}"
        line = line[: line_bytes - 1]
        lines.append(line)
        length += line_bytes
    return ("\n".join(lines) + "\n").encode()[:size]
