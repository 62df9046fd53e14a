"""How a delivery goes out: picked when due, tried, tried again later, given up.

At least once: whoever tries one puts it off first and writes down afterwards what came of it. What dies in between is
tried again when that time comes, and receivers tell doubles by the notice's id.
"""

import logging
import smtplib
import threading
from collections import Counter
from collections.abc import Collection
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from benchsite.accounts.models import Delivery, Notice, Webhook
from benchsite.core.addresses import LOOKUP_TIMEOUT_S
from benchsite.core.encryption import CannotOpen
from benchsite.core.http_client import RequestFailed, post
from benchsite.notifications import webhooks
from benchsite.notifications.notices import build_message, mail_works
from benchsite.notifications.payloads import build_body

log = logging.getLogger(__name__)
# Under way at a time: to webhooks, and beside them by e-mail, so that neither keeps the other waiting.
WEBHOOKS_AT_ONCE: Final = 12
MAILS_AT_ONCE: Final = 4
MAX_PER_TEAM: Final = 2  # of each, so that the slow receivers of one team leave room for the others
# Tests of webhooks in one process: whoever asks waits for the receiver, in a thread that serves pages.
TESTS_AT_ONCE: Final = 2
RETRY_TEST_AFTER_S: Final = 5  # A receiver has no longer to answer.
_tests: Final = threading.BoundedSemaphore(TESTS_AT_ONCE)
# How long after each failed attempt the next one comes; after the last it is given up.
WAITS: Final = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 720))
# Longer than any attempt takes: a delivery whose worker died is tried again after it.
LEASE: Final = timedelta(seconds=90)
# So many notices given up in a row switch a webhook off: it has not answered for most of a day.
MAX_GIVEN_UP: Final = 3
RETENTION: Final = timedelta(days=30)
GONE: Final = 410  # By this a receiver says that it wants no more.


class TryLater(Exception):
    """Tests of webhooks are under way already. The message says when to ask again."""


def due(*, under_way: Collection[Delivery] = ()) -> list[Delivery]:
    """The deliveries to be tried now beside those under way, taken so that nobody else tries them."""
    wanted = [
        *_choose_next("webhook_id", [delivery for delivery in under_way if delivery.webhook_id], WEBHOOKS_AT_ONCE),
        *_choose_next("member_id", [delivery for delivery in under_way if delivery.member_id], MAILS_AT_ONCE),
    ]
    if not wanted:
        return []

    with transaction.atomic():
        # Another loop may have taken some meanwhile.
        taken = list(
            Delivery.objects.filter(pk__in=wanted, state=Delivery.State.WAITING, next_at__lte=Now())
            .select_related("notice")
            .order_by("next_at")
            .select_for_update(skip_locked=True, of=("self",))
        )
        for delivery in taken:
            claim(delivery)

    return taken


def _choose_next(receiver: str, under_way: list[Delivery], at_once: int) -> list[UUID]:
    """The delivery that is due the longest: one at a time to each receiver, and few of a team, even a slow one."""
    if len(under_way) >= at_once:
        return []

    of_team = Counter(delivery.notice.team_id for delivery in under_way)
    full = [team for team, count in of_team.items() if count >= MAX_PER_TEAM]
    busy = [getattr(delivery, receiver) for delivery in under_way]
    # The first of each receiver: no more rows than there are receivers, whatever waits for them.
    first = (
        Delivery.objects.filter(Q((f"{receiver}__isnull", False)), state=Delivery.State.WAITING, next_at__lte=Now())
        .exclude(Q((f"{receiver}__in", busy)))
        .exclude(notice__team__in=full)
        .order_by(receiver, "next_at")
        .distinct(receiver)
        .values_list("next_at", "pk", "notice__team")
    )
    chosen = []
    for _, delivery_id, team_id in sorted(first):
        if of_team[team_id] < MAX_PER_TEAM and of_team.total() < at_once:
            of_team[team_id] += 1
            chosen.append(delivery_id)

    return chosen


def claim(delivery: Delivery) -> None:
    """Begin an attempt: counted, and put off for as long as it may take."""
    Delivery.objects.filter(pk=delivery.pk).update(attempts=F("attempts") + 1, next_at=Now() + LEASE)
    delivery.attempts += 1


def attempt(delivery: Delivery) -> Delivery:
    """Try a claimed delivery and write down what came of it."""
    try:
        status = _tell_webhook(delivery, delivery.webhook) if delivery.webhook else _tell_member(delivery)
        _note_arrival(delivery, status)
    except RequestFailed as failure:
        _note_failure(delivery, failure)
    delivery.refresh_from_db()
    return delivery


def try_webhook(webhook: Webhook) -> Delivery:
    """Tell one webhook something at once, whether it is switched on or not; the delivery says what came of it.

    Raises TryLater.
    """
    if not _tests.acquire(blocking=False):
        raise TryLater(f"Other tests of webhooks are under way. Ask again in {RETRY_TEST_AFTER_S} s.")
    try:
        notice = Notice.objects.create(
            team=webhook.team,
            kind="test",
            subject=f"A test of the webhook {webhook.name}"[:200],
            text="Nothing has happened: somebody asked whether this webhook works.",
        )
        # It is tried this once only, so it never waits for the loop.
        delivery = Delivery.objects.create(
            notice=notice, webhook=webhook, state=Delivery.State.GIVEN_UP, attempts=1, next_at=None
        )
        return attempt(delivery)
    finally:
        _tests.release()


def expire() -> None:
    """Forget what was told long ago."""
    Notice.objects.filter(at__lt=Now() - RETENTION).exclude(deliveries__state=Delivery.State.WAITING).delete()


class NeverArrives(RequestFailed):
    """It will not arrive later either."""


def _tell_webhook(delivery: Delivery, webhook: Webhook) -> int:
    if not webhook.is_active and not _is_test(delivery):
        raise NeverArrives("The webhook was switched off.")

    try:
        target, address = webhooks.check_url(webhook.url, LOOKUP_TIMEOUT_S)
    except webhooks.WebhookRefused as refused:
        raise RequestFailed(str(refused)) from None

    notice = Notice.objects.select_related("team").get(pk=delivery.notice_id)
    body = build_body(notice, webhook.shape)
    try:
        signed = webhooks.signed_headers(webhook, str(notice.pk), body)
    except CannotOpen as error:
        raise RequestFailed(str(error)) from None

    headers = {"Content-Type": "application/json", "User-Agent": "Benchsite", **signed}
    return post(target, address, body, headers)


def _tell_member(delivery: Delivery) -> int | None:
    member = delivery.member
    assert member is not None  # A constraint: either a webhook or a member.
    if not mail_works():
        raise NeverArrives("This site has no mail server.")
    if not member.user.email or not member.user.is_active:
        raise NeverArrives("The member has no e-mail address, or their account has ended.")
    if not member.user.has_confirmed_email:
        raise NeverArrives("The address is not confirmed.")

    notice = Notice.objects.select_related("team").get(pk=delivery.notice_id)
    try:
        build_message(notice, member.user.email).send()
    except (OSError, smtplib.SMTPException, ValueError) as error:
        log.warning("E-mail of notice %s was not sent: %s", notice.pk, error)
        raise RequestFailed("The mail server did not take it; the site's log says why.") from None

    return None


def _is_test(delivery: Delivery) -> bool:
    """Whether it is tried this once only: it was given up before it began."""
    return bool(delivery.state == Delivery.State.GIVEN_UP)


def _select_claimed(delivery: Delivery) -> QuerySet[Delivery]:
    """The delivery, if nobody has tried it since: whoever took too long has nothing to say any more."""
    return Delivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts).exclude(state=Delivery.State.DELIVERED)


@transaction.atomic
def _note_arrival(delivery: Delivery, status: int | None) -> None:
    changed = _select_claimed(delivery).update(
        state=Delivery.State.DELIVERED, next_at=None, delivered_at=Now(), status_code=status, error=""
    )
    if changed and delivery.webhook_id:
        last_status = str(status or "")
        Webhook.objects.filter(pk=delivery.webhook_id).update(last_at=Now(), last_status=last_status, failures=0)


@transaction.atomic
def _note_failure(delivery: Delivery, failure: RequestFailed) -> None:
    is_test = _is_test(delivery)
    is_gone = failure.status == GONE and not is_test
    is_given_up = is_test or is_gone or isinstance(failure, NeverArrives) or delivery.attempts > len(WAITS)
    error = str(failure)[:300]
    state, next_at = Delivery.State.GIVEN_UP, None
    if not is_given_up:
        state, next_at = Delivery.State.WAITING, timezone.now() + WAITS[delivery.attempts - 1]
    changed = _select_claimed(delivery).update(state=state, next_at=next_at, status_code=failure.status, error=error)
    if not changed or isinstance(failure, NeverArrives) or not delivery.webhook_id:
        return
    webhook = Webhook.objects.filter(pk=delivery.webhook_id).first()
    if webhook is None:
        return

    failures = webhook.failures
    if is_given_up and not is_test:
        failures += 1
    Webhook.objects.filter(pk=webhook.pk).update(last_at=Now(), last_status=error, failures=failures)
    if is_gone:
        webhooks.pause(webhook, None, "It answered 410 Gone, by which a receiver says that it wants no more.")
    elif failures >= MAX_GIVEN_UP:
        webhooks.pause(webhook, None, f"{MAX_GIVEN_UP} notices in a row could not be delivered: {error}")
