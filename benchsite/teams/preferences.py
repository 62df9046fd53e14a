"""What a member wants to be told by e-mail, and at which address."""

from collections.abc import Collection

from django.db import transaction

from benchsite.teams.models import Membership, Preference, User


def chosen(membership: Membership) -> list[str]:
    """The kinds that the member asked for; none until they did."""
    return list(membership.preferences.order_by("kind").values_list("kind", flat=True))


@transaction.atomic
def choose(membership: Membership, kinds: Collection[str], *, address: str) -> None:
    """These kinds and no others, to this address."""
    User.objects.filter(pk=membership.user_id).update(email=address)
    membership.preferences.exclude(kind__in=kinds).delete()
    Preference.objects.bulk_create(
        [Preference(membership=membership, kind=kind) for kind in kinds], ignore_conflicts=True
    )
