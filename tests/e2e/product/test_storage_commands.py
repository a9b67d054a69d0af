"""The commands around what jobs keep: what they print, what they write, what they exit with."""

from tests.parts.installation import Installation


def test_an_installation_without_caches_says_so(site: Installation) -> None:
    listed = site.ostler("cache", "list")
    assert (listed.status, listed.out, listed.err) == (0, "", "no cache entries\n")
    assert site.ostler("cache", "list", "--json").json == {}
    assert site.ostler("cache", "prune", "--unused", "24h", "--keep", "1GiB", "--json").json == {
        "entries": 0,
        "bytes": 0,
    }
    refused = site.ostler("cache", "delete", "cache_none")
    assert (refused.status, "code: not_found" in refused.err) == (1, True)
    unknown = site.ostler("cache", "list", "--repository", "none")
    assert (unknown.status, "there is no repository 'none'" in unknown.err) == (1, True)
