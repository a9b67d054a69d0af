"""``ostler token``: registration tokens for runners and API tokens for people and programs."""

import click

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.context import load_context
from ostler.cli.options import DURATION, json_option
from ostler.effects import system_effects
from ostler.protocol.v1.fleet_messages import CreateTokenRequest
from ostler.protocol.v1.table import CREATE_TOKEN, LIST_TOKENS, REVOKE_TOKEN


@click.group()
def token() -> None:
    """Create and revoke tokens."""


@token.command()
@click.option("--pool", default="", help="The pool that a runner may join with it; the default one without it.")
@click.option("--api", is_flag=True, help="Create an API token for yourself instead.")
@click.option("--name", default="", help="What it is for.")
@click.option("--uses", type=click.IntRange(1, 100_000), default=1, help="How many runners may join with it.")
@click.option("--ttl", type=DURATION, default=3_600_000, help="How long it lasts.", show_default="1h")
@json_option
def create(*, pool: str, api: bool, name: str, uses: int, ttl: int, as_json: bool) -> None:
    """Create a token. It is shown this once."""
    if api and pool:
        raise click.UsageError("an API token is yours and belongs to no pool: leave out --pool or --api")
    request = CreateTokenRequest(kind="api" if api else "registration", name=name, pool=pool, uses=uses, ttl_ms=ttl)
    reply = with_client(lambda client: client.call(CREATE_TOKEN, request=request))
    if as_json:
        output.print_json(reply)
        return
    output.print_line(reply.secret)
    if not api:
        url = load_context().url
        output.say("on the runner's machine:")
        output.say(f"  ostler agent join {url} {reply.secret} RUNNER-NAME")


@token.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List tokens without their secrets."""
    reply = with_client(lambda client: client.call(LIST_TOKENS))
    if as_json:
        output.print_json(reply)
        return
    now = system_effects().clock.now()
    rows = [
        (
            item.id,
            item.kind,
            output.shown(item.name) or "-",
            item.pool_name or "-",
            "-" if item.uses_left is None else str(item.uses_left),
            "revoked" if item.revoked else output.span(item.expires_at - now),
        )
        for item in reply.tokens
    ]
    output.print_table(("TOKEN", "KIND", "NAME", "POOL", "USES LEFT", "EXPIRES IN"), rows, empty="no tokens")


@token.command()
@click.argument("token_id")
def revoke(*, token_id: str) -> None:
    """Revoke a token at once."""
    with_client(lambda client: client.call(REVOKE_TOKEN, token_id=token_id))
    output.say(f"token {token_id} revoked")
