"""Webhooks of a team: made, changed, paused and tested by its admins, and how what they are told is signed."""

import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchsite.accounts import audit, limits
from benchsite.accounts.models import Delivery, Team, User, Webhook
from benchsite.core.addresses import REQUEST_LOOKUP_TIMEOUT_S, AddressRefused, get_servers, refuse_webhook_address
from benchsite.core.encryption import CannotOpen, is_current, seal, unseal
from benchsite.core.http_client import Target, parse_target
from benchsite.notifications.messages import HOSTS_ALLOWED, TOO_MANY_WEBHOOKS

PREFIX: Final = "whsec_"  # of Standard Webhooks: the key follows in base64
OVERLAP: Final = timedelta(days=1)  # the secret before a rotation signs on while receivers change over
MAX_WEBHOOKS: Final = 20


class WebhookRefused(Exception):
    """It cannot be made or told as asked. The message says why and what to do; `field` what is wrong, if one is."""

    def __init__(self, message: str, field: str = "") -> None:
        self.field = field
        super().__init__(message)


def check_url(url: str, timeout_s: float = REQUEST_LOOKUP_TIMEOUT_S) -> tuple[Target, str]:
    """The target of a URL and the address to connect to: asked when it is saved and before each sending.

    Raises WebhookRefused for an address that nobody may have the site connect to.
    """
    try:
        target = parse_target(url)
    except ValueError as error:
        raise WebhookRefused(str(error), "url") from None

    hosts = settings.WEBHOOK_HOSTS
    if hosts and target.host not in hosts:
        raise WebhookRefused(HOSTS_ALLOWED.format(hosts=", ".join(hosts)), "url")

    own = get_servers((settings.DATABASE_URL, settings.REDIS_URL))
    try:
        address = refuse_webhook_address(
            target.host,
            target.port,
            settings.WEBHOOK_NETWORKS,
            own_servers=own,
            allowed_ports=settings.WEBHOOK_PORTS,
            encrypted=target.encrypted,
            timeout_s=timeout_s,
        )
    except AddressRefused as refused:
        raise WebhookRefused(str(refused), "url") from None

    return target, address


@transaction.atomic
def make(
    team: Team, by: User, *, name: str, url: str, kinds: Collection[str], shape: str = Webhook.Shape.PLAIN
) -> tuple[Webhook, str]:
    """A new webhook and its secret, which no page shows again. Raises WebhookRefused."""
    target, _ = check_url(url)
    limits.lock(team)
    if team.webhooks.count() >= MAX_WEBHOOKS:
        raise WebhookRefused(TOO_MANY_WEBHOOKS.format(limit=MAX_WEBHOOKS))
    secret = new_secret()
    webhook = Webhook.objects.create(
        team=team, name=name, url=url, shape=shape, kinds=sorted(set(kinds)), sealed=seal(secret), created_by=by
    )
    audit.note("webhook_made", team=team, actor=by, subject=name, text=f"{target.host}: {_join_kinds(kinds)}")
    return webhook, secret


@transaction.atomic
def change(webhook: Webhook, by: User, *, name: str, url: str, kinds: Collection[str], shape: str) -> None:
    """Another name, address, choice of kinds or shape. Raises WebhookRefused."""
    target, _ = check_url(url)
    Webhook.objects.filter(pk=webhook.pk).update(name=name, url=url, shape=shape, kinds=sorted(set(kinds)))
    audit.note(
        "webhook_changed", team=webhook.team, actor=by, subject=name, text=f"{target.host}: {_join_kinds(kinds)}"
    )


@transaction.atomic
def rotate(webhook: Webhook, by: User) -> str:
    """A new secret, shown this once; for a day everything is signed with the old one as well."""
    locked = Webhook.objects.select_for_update().get(pk=webhook.pk)
    old_secret = ""
    # Nobody can sign any more with one that cannot be opened: receivers change at once.
    with suppress(CannotOpen):
        old_secret = next(iter(get_secrets(locked)), "")
    secret = new_secret()
    _keep(locked, secret, old_secret, until=timezone.now() + OVERLAP)
    audit.note("webhook_rotated", team=webhook.team, actor=by, subject=webhook.name)
    return secret


@transaction.atomic
def pause(webhook: Webhook, by: User | None, because: str = "") -> None:
    """It is told nothing from now on, nor what waits for it. Without a person: it was switched off, for a reason."""
    if not Webhook.objects.filter(pk=webhook.pk, is_active=True).update(is_active=False, off_because=because[:300]):
        return
    webhook.deliveries.filter(state=Delivery.State.WAITING).update(
        state=Delivery.State.GIVEN_UP, next_at=None, error="The webhook was switched off."
    )
    audit.note("webhook_off", team=webhook.team, actor=by, subject=webhook.name, text=because)


@transaction.atomic
def resume(webhook: Webhook, by: User) -> None:
    """It is told again of what happens from now on."""
    if Webhook.objects.filter(pk=webhook.pk, is_active=False).update(is_active=True, off_because="", failures=0):
        audit.note("webhook_on", team=webhook.team, actor=by, subject=webhook.name)


@transaction.atomic
def delete(webhook: Webhook, by: User) -> None:
    """It goes with the log of its deliveries."""
    audit.note("webhook_deleted", team=webhook.team, actor=by, subject=webhook.name)
    webhook.delete()


def signed_headers(webhook: Webhook, message_id: str, body: bytes) -> dict[str, str]:
    """The headers of a message by the specification of Standard Webhooks, with a signature for each secret in use.

    Raises CannotOpen.
    """
    timestamp = str(int(timezone.now().timestamp()))
    content = f"{message_id}.{timestamp}.".encode() + body
    signatures = []
    for secret in get_secrets(webhook):
        signature = hmac.digest(_decode_key(secret), content, "sha256")
        signatures.append(f"v1,{b64encode(signature).decode()}")
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(signatures),
    }


def new_secret() -> str:
    return PREFIX + b64encode(secrets.token_bytes(32)).decode()


def _decode_key(secret: str) -> bytes:
    """A secret of an earlier release has another prefix, and is its own key."""
    if secret.startswith(PREFIX):
        return b64decode(secret.removeprefix(PREFIX))
    return secret.encode()


def get_secrets(webhook: Webhook) -> list[str]:
    """The secret, and the one before it as long as that signs too. Raises CannotOpen.

    What stands there plainly is newer than what is sealed: the previous release wrote it.
    """
    keys: list[str | None] = [webhook.secret]
    if not webhook.secret or not webhook.old_secret:
        keys.append(unseal(webhook.sealed))
    keys += [webhook.old_secret, unseal(webhook.old_sealed)]
    number = 1
    if webhook.old_until is not None and webhook.old_until > timezone.now():
        number = 2
    return [key for key in keys if key][:number]


def seal_again() -> int:
    """Seal what is kept plainly or under a key that SECRET_KEY no more is; answers how many webhooks those were.

    The deliverer does it now and then, so that nothing has to be changed while the previous release still runs.
    """
    changed = 0
    for pk in Webhook.objects.values_list("pk", flat=True):
        with transaction.atomic():
            webhook = Webhook.objects.select_for_update().filter(pk=pk).first()
            if webhook is None:
                continue
            is_plain = bool(webhook.secret or webhook.old_secret)
            if not is_plain and is_current(webhook.sealed) and is_current(webhook.old_sealed):
                continue
            try:
                secret, before = [*get_secrets(webhook), ""][:2]
            except CannotOpen:
                continue  # Each sending says so.
            _keep(webhook, secret, before, until=webhook.old_until)
            changed += 1

    return changed


def _keep(webhook: Webhook, secret: str, before: str, *, until: datetime | None) -> None:
    if not before:
        until = None
    rows = Webhook.objects.filter(pk=webhook.pk)
    rows.update(secret=None, old_secret=None, sealed=seal(secret), old_sealed=seal(before), old_until=until)


def _join_kinds(kinds: Collection[str]) -> str:
    return ", ".join(sorted(set(kinds)))
