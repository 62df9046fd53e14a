"""Whose turn it is to be told: every team's, however much another has to tell and however slow its receivers are."""

import heapq
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import Q
from django.db.models.functions import Now

from benchsite.teams.models import Delivery

# Under way at a time: to webhooks, and beside them by e-mail, so that neither keeps the other waiting.
WEBHOOKS_AT_ONCE: Final = 12
MAILS_AT_ONCE: Final = 4
MOST_OF_A_TEAM: Final = 2  # of each


class Waiting(NamedTuple):
    """A delivery that is due: the first of its receiver."""

    next_at: datetime
    pk: uuid.UUID
    team: uuid.UUID


def chosen(most: int, under_way: Collection[Delivery]) -> list[uuid.UUID]:
    """Up to `most` deliveries that may begin beside those under way; one at a time to each receiver."""
    webhooks = [one for one in under_way if one.webhook_id]
    mails = [one for one in under_way if one.member_id]
    found = [
        *_turns("webhook_id", webhooks, room=WEBHOOKS_AT_ONCE - len(webhooks)),
        *_turns("member_id", mails, room=MAILS_AT_ONCE - len(mails)),
    ]
    return [one.pk for one in sorted(found)[:most]]


def fairly(waiting: Iterable[Waiting], busy: Iterable[uuid.UUID], room: int) -> list[Waiting]:
    """The next ones: of the team with the fewest under way, and among such the one that is due the longest.

    `busy` holds the team of each delivery under way.
    """
    lines = defaultdict(list)
    for one in waiting:
        lines[one.team].append(one)
    counts = Counter(busy)
    heads = []
    for team, line in lines.items():
        line.sort(reverse=True)
        heads.append((counts[team], line.pop(), line))
    heapq.heapify(heads)
    taken: list[Waiting] = []
    while heads and len(taken) < room and heads[0][0] < MOST_OF_A_TEAM:
        count, one, line = heapq.heappop(heads)
        taken.append(one)
        if line:
            heapq.heappush(heads, (count + 1, line.pop(), line))
    return taken


def _turns(receiver: str, under_way: list[Delivery], *, room: int) -> list[Waiting]:
    if room <= 0:
        return []
    busy = [one.notice.team_id for one in under_way]
    full = [team for team, count in Counter(busy).items() if count >= MOST_OF_A_TEAM]
    # The first of each receiver: no more rows than there are receivers, whatever waits for them.
    rows = (
        Delivery.objects.filter(Q((f"{receiver}__isnull", False)), state=Delivery.State.WAITING, next_at__lte=Now())
        .exclude(Q((f"{receiver}__in", [getattr(one, receiver) for one in under_way])))
        .exclude(notice__team__in=full)
        .order_by(receiver, "next_at")
        .distinct(receiver)
        .values_list("next_at", "pk", "notice__team")
    )
    return fairly([Waiting(at, pk, team) for at, pk, team in rows if at is not None], busy, room)
