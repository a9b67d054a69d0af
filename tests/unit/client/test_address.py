"""Addresses and the proxies that the environment names."""

import pytest

from ostler.client.address import parse_address, proxy_for
from ostler.client.errors import AddressMalformed


@pytest.mark.parametrize(
    ("text", "origin", "path"),
    [
        ("https://ci.example", "https://ci.example", ""),
        ("http://ci.example:7080/", "http://ci.example:7080", ""),
        ("https://ci.example:443/base/", "https://ci.example", "/base"),
        ("http://[::1]:8080", "http://[::1]:8080", ""),
    ],
)
def test_an_address_is_taken_apart(text: str, origin: str, path: str) -> None:
    address = parse_address(text)
    assert (address.origin, address.path) == (origin, path)


@pytest.mark.parametrize("text", ["ci.example", "ftp://ci.example", "https://", "http://h:99999", "http://h/?q=1"])
def test_what_is_no_address_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(AddressMalformed, match="write http"):
        parse_address(text)


@pytest.mark.parametrize(
    ("server", "environment", "proxy"),
    [
        ("https://ci.example", {"HTTPS_PROXY": "http://p:3128"}, "http://p:3128"),
        ("https://ci.example", {"HTTPS_PROXY": "p:3128"}, "http://p:3128"),
        ("https://ci.example", {"https_proxy": "http://low:1", "HTTPS_PROXY": "http://up:1"}, "http://low:1"),
        ("http://ci.example", {"HTTPS_PROXY": "http://p:3128"}, None),
        ("http://ci.example", {"HTTP_PROXY": "http://p:3128"}, "http://p:3128"),
        ("http://ci.example", {"HTTP_PROXY": "http://p:3128", "REQUEST_METHOD": "GET"}, None),
        ("https://ci.example", {"ALL_PROXY": "http://all:1"}, "http://all:1"),
        ("https://ci.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other, .example"}, None),
        ("https://ci.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ci.example:8443"}, "http://p:1"),
        ("https://ci.example:8443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ci.example:8443"}, None),
        ("https://bci.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ci.example"}, "http://p:1"),
        ("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://ci.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
    ],
)
def test_the_proxy_of_the_environment(server: str, environment: dict[str, str], proxy: str | None) -> None:
    found = proxy_for(parse_address(server), environment)
    assert (found.origin if found else None) == proxy


def test_a_proxys_password_becomes_a_header() -> None:
    found = proxy_for(parse_address("https://ci.example"), {"HTTPS_PROXY": "http://me:p%40ss@p:1"})
    assert found is not None
    assert found.authorization == "Basic bWU6cEBzcw=="
