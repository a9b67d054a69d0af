"""How a machine reaches others: the variables that say it, and which of them a job may see."""

from collections.abc import Mapping

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH")


def reach_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which a process of this environment reaches others, and the home with git's settings."""
    return {name: environment[name] for name in (*_PROXIES, *_CERTIFICATES, "HOME") if environment.get(name)}


def for_jobs(reach: Mapping[str, str]) -> dict[str, str]:
    """Return those of them that hold neither credentials nor a way to them."""
    return {name: value for name, value in reach.items() if name != "HOME" and "@" not in value}
