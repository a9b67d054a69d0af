"""The one date of HTTP: its ``Date`` header is the only way to learn what the other side's clock says."""

from datetime import UTC, datetime

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def http_date(text: str) -> int | None:
    """Return the seconds since 1970 of a ``Date`` header such as ``Sun, 06 Nov 1994 08:49:37 GMT``."""
    try:
        _, day, month, year, time, _ = text.split(" ")
        hour, minute, second = (int(part) for part in time.split(":"))
        moment = datetime(int(year), _MONTHS.index(month) + 1, int(day), hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp())
