"""Whether an address is its member's own: notices are mailed only to one at which somebody opened a link.

Without it a member could have the site write to strangers. The link is signed and names the account and the address, so
nothing has to be kept of it, and it ends when either has changed.
"""

import hashlib
import logging
import smtplib
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.urls import reverse

from benchsite.accounts import audit, login_throttling
from benchsite.accounts.models import User
from benchsite.notifications.notices import absolute, mail_works, one_line

log = logging.getLogger(__name__)
LIFE: Final = timedelta(days=3)
A_DAY_S: Final = 24 * 3600
# Links a day: of one account to one address, of one account, and to one address from whichever account. The last is
# more than one account can ask for, so that no stranger uses up what its owner needs, and few enough to flood nobody.
MAX_OF_AN_ACCOUNT_TO_AN_ADDRESS: Final = 3
MAX_OF_AN_ACCOUNT: Final = 5
MAX_TO_AN_ADDRESS: Final = 10
_signer = signing.TimestampSigner(salt="benchsite.teams.email_verification")  # keeps mailed links valid


class NotSent(Exception):
    """The link was not sent. The message says why and what to do."""


def send(user: User) -> None:
    """Mail the link to the address of the account, unless it is confirmed or there is none. Raises NotSent."""
    if not user.email or user.has_confirmed_email:
        return
    if not mail_works():
        raise NotSent("This site has no mail server, so no link can be sent.")
    _count(user)
    try:
        message_to(user).send()
    except (OSError, smtplib.SMTPException, ValueError) as error:
        log.warning("The link that confirms an address was not sent: %s", error)
        raise NotSent("The mail server did not take it; the site's log says why.") from None


def message_to(user: User) -> EmailMessage:
    """It says no more than it must: whoever reads it may never have heard of this site."""
    link = absolute(reverse("confirm-address", args=[get_token(user)]))
    body = (
        f"The account “{one_line(user.get_username())}” at {settings.SITE_URL} asks for notices at this address.\n\n"
        f"If that is you, open this link within {LIFE.days} days and press the button:\n{link}\n\n"
        "If not, do nothing: no notice is sent here."
    )

    return EmailMessage(
        subject="Confirm your e-mail address",
        body=body,
        from_email=settings.DEFAULT_FROM_EMAIL,
        to=[one_line(user.email)],
        headers={"Auto-Submitted": "auto-generated"},
    )


def get_token(user: User) -> str:
    return _signer.sign_object([str(user.pk), user.email])


def find_account(token: str) -> User | None:
    """Whose link this is, as long as it counts."""
    try:
        key, address = map(str, _signer.unsign_object(token, max_age=LIFE))
    except (signing.BadSignature, ValueError):
        return None
    return User.objects.filter(pk=key, email=address, is_active=True).exclude(email="").first()


@transaction.atomic
def confirm(token: str) -> User | None:
    """The address is its account's from now on; None for a link that counts no more. A second time changes nothing."""
    user = find_account(token)
    if user is None:
        return None
    changed = User.objects.filter(pk=user.pk, email=user.email).exclude(confirmed_email=user.email)
    if changed.update(confirmed_email=user.email):
        audit.note("address_confirmed", team=None, actor=user)
    return user


def _count(user: User) -> None:
    """Counts one more mail: to the address, whose owner may not have asked, and of the account. Raises NotSent."""
    address = hashlib.sha256(user.email.strip().casefold().encode(errors="replace")).hexdigest()
    limits = (
        (f"confirm:{user.pk}:{address}", MAX_OF_AN_ACCOUNT_TO_AN_ADDRESS),
        (f"confirm:{user.pk}", MAX_OF_AN_ACCOUNT),
        (f"confirm:{address}", MAX_TO_AN_ADDRESS),
    )
    if not login_throttling.counted(limits, A_DAY_S):
        raise NotSent("That link was sent several times today. Look for it among unwanted mail, or wait a day.")
