"""Keeps the tokens of links that let in, confirm or show something, and of badges, out of the logs."""

import logging
import re

TOKEN_IN_PATH = re.compile(
    r"(/(?:sign-in/once|invited|r|team/notifications/confirm)/|/watch/(?!new/|links/)|/api/v1/badges/(?:reports/)?)"
    r"[\w:-]+",
    re.ASCII,
)


def mask(text: str) -> str:
    """The text with the token of any such link replaced."""
    return TOKEN_IN_PATH.sub(r"\1[masked]", text)


class MaskSignInLinks(logging.Filter):
    """Rewrites a record whose finished message carries a token."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        masked = mask(message)
        if masked != message:
            record.msg, record.args = masked, ()
        return True
