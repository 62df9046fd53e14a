"""How the site sends e-mail, from one URL in the environment. Pure."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

# scheme -> its usual port
PORTS: Final = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
SMTP: Final = "django.core.mail.backends.smtp.EmailBackend"
CONSOLE: Final = "django.core.mail.backends.console.EmailBackend"
NOWHERE: Final = "django.core.mail.backends.dummy.EmailBackend"


@dataclass(frozen=True, slots=True)
class MailServer:
    """Django's settings of a mail server. Without one nothing is sent, and pages say so."""

    backend: str
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False

    @property
    def is_there(self) -> bool:
        return self.backend != NOWHERE


def mail_server(url: str) -> MailServer:
    """The server of `smtp+starttls://user:password@host:587`, `smtps://…`, `smtp://…` or `console:`; none for "".

    Raises ValueError for anything else, without repeating the URL: it holds a password.
    """
    if not url:
        return MailServer(NOWHERE)
    if url == "console:":
        return MailServer(CONSOLE)

    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("EMAIL_URL: write smtp+starttls://user:password@host:587, smtps://…, smtp://… or console:")

    return MailServer(
        SMTP,
        parts.hostname,
        parts.port or PORTS[parts.scheme],
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+starttls",
        tls=parts.scheme == "smtps",
    )
