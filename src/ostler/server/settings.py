"""What a control plane replica is told at its start: flags first, then the environment, then these defaults."""

from pathlib import Path
from typing import Final

import msgspec

from ostler.domain.storage import StorageRules


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that `ostler up` and `ostler server` can be told about the server."""

    database: str
    blobs: str
    host: str = "127.0.0.1"
    port: int = 7080
    public_url: str = ""
    key_file: Path | None = None
    json_logs: bool = True
    debug: bool = False
    retention_days: int = 90
    storage: StorageRules = StorageRules()
    git_cache: Path | None = None
    private_networks: bool = False

    @property
    def url(self) -> str:
        """The address to tell people."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104 - compared, not bound
        return self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


SETTINGS: Final = {
    "OSTLER_DATABASE": "The database: `sqlite:///PATH` or `postgresql://USER@HOST/NAME`. Flag `--database`.",
    "OSTLER_BLOBS": "Where logs and artifacts are kept: `file:///PATH` or `s3://BUCKET/PREFIX`. Flag `--blobs`.",
    "OSTLER_HOST": "The address to listen at. Flag `--host`, default `127.0.0.1`.",
    "OSTLER_PORT": "The port to listen at. Flag `--port`, default `7080`.",
    "OSTLER_PUBLIC_URL": "The address that people and runners use, if a proxy stands in front. Flag `--public-url`.",
    "OSTLER_MASTER_KEY": "The installation's key: 32 random bytes in base64, the same for every replica.",
    "OSTLER_KEY_FILE": "A file that holds the installation's key instead. Flag `--key-file`.",
    "OSTLER_RETENTION_DAYS": "How long ended runs and their logs are kept. Flag `--retention-days`, default `90`.",
    "OSTLER_GIT_CACHE": "The folder in which repositories are cached; it may be deleted. Flag `--git-cache`, default"
    " `ostler/git` below `XDG_CACHE_HOME` or `~/.cache`.",
    "OSTLER_PRIVATE_NETWORKS": "`1`: repositories and forges may be in private networks and local folders. Flag"
    " `--private-networks`; `ostler up` allows it always.",
    "OSTLER_ARTIFACT_DAYS": "How long an artifact is kept if its job does not say. Flag `--artifact-days`, default 90.",
    "OSTLER_LONGEST_ARTIFACT_DAYS": "How long a job may have an artifact kept. Flag `--longest-artifact-days`, default "
    "`400`.",
    "OSTLER_ARTIFACT_LIMIT": "How large an artifact may be. Flag `--artifact-limit`, default `10GiB`.",
    "OSTLER_ARTIFACT_QUOTA": "How large all artifacts of a repository may be; runs without one share as much. Flag "
    "`--artifact-quota`, default `50GiB`.",
    "OSTLER_CACHE_DAYS": "How long a cache entry is kept that nobody reads. Flag `--cache-days`, default `7`.",
    "OSTLER_CACHE_QUOTA": "How large all cache entries of a repository may be; beyond it the least recently used ones "
    "are deleted. Flag `--cache-quota`, default `10GiB`.",
}
"""Every environment variable of the server, for the reference page."""
