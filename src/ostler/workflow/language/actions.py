"""Popular actions with the inputs and outputs of all their versions, so that a slip of the finger is seen."""

from typing import Final, NamedTuple


class KnownAction(NamedTuple):
    """What an action takes and gives. ``outputs`` is None where a step may give any."""

    required: frozenset[str]
    inputs: frozenset[str]
    outputs: frozenset[str] | None


def _known(inputs: str, outputs: str | None = "", required: str = "") -> KnownAction:
    names = frozenset(required.split())
    return KnownAction(
        names, names | frozenset(inputs.split()), None if outputs is None else frozenset(outputs.split())
    )


_NODE = (
    "always-auth node-version node-version-file architecture check-latest registry-url scope token cache "
    "cache-dependency-path package-manager-cache mirror mirror-token version"
)
_PYTHON = (
    "python-version python-version-file cache architecture check-latest token cache-dependency-path update-environment "
    "allow-prereleases freethreaded pip-version pip-install ignore-platform-version"
)
_JAVA = (
    "java-version java-version-file distribution java-package architecture jdk-file jdkFile check-latest "
    "force-download set-default verify-signature verify-signature-public-key server-id server-username-env-var "
    "server-username server-password-env-var server-password settings-path overwrite-settings gpg-private-key "
    "gpg-passphrase-env-var gpg-passphrase cache cache-jdk cache-dependency-path cache-path cache-read-only job-status "
    "token mvn-toolchain-id mvn-toolchain-vendor show-download-progress problem-matcher version"
)
_CHECKOUT = (
    "repository ref token ssh-key ssh-known-hosts ssh-strict ssh-user persist-credentials path clean filter "
    "sparse-checkout sparse-checkout-cone-mode fetch-depth fetch-tags show-progress lfs submodules set-safe-directory "
    "github-server-url reference allow-unsafe-pr-checkout"
)
_BUILD_PUSH = (
    "add-hosts allow annotations attests build-args build-contexts builder cache-from cache-to call cgroup-parent "
    "context file labels load network no-cache no-cache-filters outputs platforms provenance pull push sbom secrets "
    "secret-envs secret-files shm-size ssh tags target ulimit github-token"
)
_BUILDX = (
    "version driver driver-opts buildkitd-flags buildkitd-config buildkitd-config-inline install use endpoint "
    "platforms append cache-binary cleanup keep-state name config config-inline"
)
_DOWNLOAD = (
    "name artifact-ids path pattern merge-multiple github-token repository run-id digest-mismatch skip-decompress"
)
_UPLOAD = "name if-no-files-found retention-days compression-level overwrite include-hidden-files archive"
_SCRIPT = (
    "github-token debug user-agent previews result-encoding retries retry-exempt-status-codes base-url "
    "original-base-url"
)

ACTIONS: Final[dict[str, KnownAction]] = {
    "actions/cache": _known(
        "restore-keys upload-chunk-size enableCrossOsArchive fail-on-cache-miss lookup-only save-always",
        "cache-hit cache-primary-key cache-matched-key",
        "path key",
    ),
    "actions/cache/restore": _known(
        "restore-keys enableCrossOsArchive fail-on-cache-miss lookup-only",
        "cache-hit cache-primary-key cache-matched-key",
        "path key",
    ),
    "actions/cache/save": _known("upload-chunk-size enableCrossOsArchive", "", "path key"),
    "actions/checkout": _known(_CHECKOUT, "ref commit"),
    "actions/deploy-pages": _known(
        "token timeout error_count reporting_interval artifact_name preview emit_telemetry", "page_url"
    ),
    "actions/download-artifact": _known(_DOWNLOAD, "download-path artifacts"),
    "actions/github-script": _known(_SCRIPT, "result", "script"),
    "actions/setup-dotnet": _known(
        "dotnet-version dotnet-quality dotnet-channel global-json-file source-url owner config-file cache "
        "cache-dependency-path architecture workloads include-prerelease version",
        "cache-hit dotnet-version",
    ),
    "actions/setup-go": _known(
        "go-version go-version-file check-latest token cache cache-dependency-path architecture stable "
        "go-download-base-url",
        "go-version cache-hit",
    ),
    "actions/setup-java": _known(_JAVA, "distribution version path cache-hit cache-primary-key"),
    "actions/setup-node": _known(_NODE, "cache-hit node-version"),
    "actions/setup-python": _known(_PYTHON, "python-version cache-hit python-path"),
    "actions/upload-artifact": _known(_UPLOAD, "artifact-id artifact-url artifact-digest", "path"),
    "actions/upload-artifact/merge": _known(
        "name pattern separate-directories retention-days compression-level delete-merged include-hidden-files",
        "artifact-id artifact-url artifact-digest",
    ),
    "actions/upload-pages-artifact": _known("name path retention-days include-hidden-files", "artifact_id"),
    "docker/build-push-action": _known(_BUILD_PUSH, "imageid digest metadata"),
    "docker/login-action": _known("registry username password scope ecr logout attempts registry-auth"),
    "docker/setup-buildx-action": _known(_BUILDX, None),
    "docker/setup-qemu-action": _known("image platforms cache-image reset", "platforms"),
    "hashicorp/setup-terraform": _known(
        "cli_config_credentials_hostname cli_config_credentials_token terraform_version terraform_version_file "
        "terraform_wrapper",
        None,
    ),
    "ruby/setup-ruby": _known(
        "ruby-version rubygems bundler bundler-cache working-directory cache-version self-hosted "
        "windows-toolchain token",
        None,
    ),
}
"""By owner, repository and folder, in small letters."""
