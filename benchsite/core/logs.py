"""Log records: as lines of JSON, without tokens, and without a traceback where nothing failed. And the ends of logs."""

import json
import logging
import os
import re
from datetime import UTC, datetime
from pathlib import Path

# Of links that let in, confirm or show something, and of badges.
TOKEN_IN_PATH = re.compile(
    r"(/(?:sign-in/once|invited|r|team/notifications/confirm)/|/api/v1/badges/(?:reports/)?)"
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


class WithoutTraceback(logging.Filter):
    """Takes the traceback from what Django logs of an answer below 500: a traceback is for what failed here."""

    def filter(self, record: logging.LogRecord) -> bool:
        if 400 <= getattr(record, "status_code", 0) < 500:
            record.exc_info = record.exc_text = None
        return True


class JsonLines(logging.Formatter):
    """Time (RFC 3339 UTC), level, logger, message, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


TAIL_BYTES = 64 * 1024


def log_tail(path: Path, lines: int = 15, start: int = 0) -> str:
    """The last lines of a log, reading nothing before the byte `start`; empty where there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(start, size - TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
