"""``ostler server``: one control plane replica over a database and a blob store that others may share."""

import asyncio
import os
from pathlib import Path
from typing import Unpack

import click
import uvloop

from ostler.cli import output
from ostler.cli.storage_options import StorageOptions, storage_options, storage_rules
from ostler.effects import system_effects
from ostler.server.logging import configure_logging
from ostler.server.program import Program, master_key
from ostler.server.settings import ServerSettings


class ServerOptions(StorageOptions):
    """What ``server`` is given."""

    database: str
    blobs: str
    host: str
    port: int
    public_url: str
    key_file: str | None
    retention_days: int
    git_cache: str | None
    private_networks: bool
    log_format: str
    debug: bool


@click.command()
@click.option(
    "--database", required=True, envvar="OSTLER_DATABASE", help="postgresql://USER@HOST/NAME or sqlite:///PATH."
)
@click.option("--blobs", required=True, envvar="OSTLER_BLOBS", help="s3://BUCKET/PREFIX or file:///PATH.")
@click.option("--host", default="127.0.0.1", envvar="OSTLER_HOST", show_default=True, help="The address to listen at.")
@click.option("--port", default=7080, type=click.IntRange(0, 65535), envvar="OSTLER_PORT", show_default=True)
@click.option("--public-url", default="", envvar="OSTLER_PUBLIC_URL", help="The address that people and runners use.")
@click.option(
    "--key-file", type=click.Path(), envvar="OSTLER_KEY_FILE", help="Holds the master key of the installation."
)
@click.option(
    "--retention-days",
    default=90,
    type=click.IntRange(min=1),
    envvar="OSTLER_RETENTION_DAYS",
    show_default=True,
    help="How long ended runs and their logs are kept.",
)
@click.option("--git-cache", type=click.Path(), envvar="OSTLER_GIT_CACHE", help="Where repositories are cached.")
@click.option(
    "--private-networks",
    is_flag=True,
    envvar="OSTLER_PRIVATE_NETWORKS",
    help="Repositories and forges may be in private networks and local folders.",
)
@storage_options
@click.option("--log-format", type=click.Choice(("json", "console")), default="json", show_default=True)
@click.option("--debug", is_flag=True, envvar="OSTLER_DEBUG", help="Log more.")
def server(**given: Unpack[ServerOptions]) -> None:
    """Run one control plane replica; any number may share a database, a blob store and a master key.

    The master key is read from OSTLER_MASTER_KEY or --key-file.
    """
    configure_logging(json=given["log_format"] == "json", debug=given["debug"])
    settings = ServerSettings(
        database=given["database"],
        blobs=given["blobs"],
        host=given["host"],
        port=given["port"],
        public_url=given["public_url"],
        key_file=Path(given["key_file"]) if given["key_file"] else None,
        retention_days=given["retention_days"],
        git_cache=Path(given["git_cache"]) if given["git_cache"] else None,
        private_networks=given["private_networks"],
        storage=storage_rules(given),
    )
    uvloop.run(_serve(settings))


async def _serve(settings: ServerSettings) -> None:
    effects = system_effects()
    program = Program(settings, master_key(settings, os.environ), effects)
    serving = asyncio.create_task(program.run())
    ready = asyncio.create_task(program.ready.wait())
    await asyncio.wait({serving, ready}, return_when=asyncio.FIRST_COMPLETED)
    if program.ready.is_set():
        output.say(f"ostler server listens at {program.url}")
        output.say(f"sign in once at {await program.sign_in_link()}")
    ready.cancel()
    await serving
