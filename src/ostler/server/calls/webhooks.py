"""Deliveries of forges and hooks: believed or refused, then stored; what follows from them comes later."""

from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.protocol.endpoint import Binary
from ostler.protocol.v1.repository_messages import DeliveryReply
from ostler.protocol.v1.workflow_table import WEBHOOK
from ostler.server.call import Call, Handlers, accepted
from ostler.server.webhooks import gitea, github, gitlab, hook
from ostler.server.webhooks.delivery import Delivery
from ostler.store import targets, triggers
from ostler.store.database import Database
from ostler.store.sealing import Sealer
from ostler.store.targets import Repository
from ostler.store.triggers import Occurrence, Trigger


class WebhookCalls:
    """See the module."""

    def __init__(self, database: Database, sealer: Sealer, effects: Effects) -> None:
        self._database = database
        self._sealer = sealer
        self._effects = effects

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {WEBHOOK: self.take}

    async def take(self, call: Call[Binary]) -> DeliveryReply:
        """Take one delivery."""
        repository = accepted(await self._database.read(targets.get, call.path["repository"]))
        delivery = accepted(self._read(call, repository))
        drawn = [self._trigger(repository, delivery, occurrence) for occurrence in delivery.occurrences]
        now = self._effects.clock.now()
        fresh = await self._database.run(triggers.deliver, repository.view.id, delivery.id, delivery.event, drawn, now)
        if not fresh:
            return DeliveryReply("repeated", "this delivery came before")
        if not drawn:
            ignored = self._trigger(repository, delivery, Occurrence(event=delivery.event))
            await self._database.run(triggers.ignore, ignored, delivery.note, now)
            return DeliveryReply("ignored", delivery.note)
        return DeliveryReply("accepted", trigger_ids=[trigger.id for trigger in drawn])

    def _read(self, call: Call[Binary], repository: Repository) -> Delivery | Refused:
        headers, body = call.headers, call.body.data
        secret = repository.opened("webhook_secret", self._sealer)
        now_seconds = self._effects.clock.now() // 1_000_000
        forge = repository.view.forge
        if "x-ostler-signature" in headers or forge == "git":
            return hook.read(headers, body, secret, now_seconds=now_seconds, repository=repository.view)
        if forge == "gitlab":
            return gitlab.read(headers, body, secret, now_seconds=now_seconds)
        if forge == "gitea":
            return gitea.read(headers, body, secret)
        return github.read(headers, body, secret)

    def _trigger(self, repository: Repository, delivery: Delivery, occurrence: Occurrence) -> Trigger:
        return Trigger(
            id=self._effects.ids.new("trg"),
            target_id=repository.view.id,
            source="webhook",
            actor=delivery.actor,
            occurrence=occurrence,
        )
