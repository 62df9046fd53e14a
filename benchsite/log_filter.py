"""What somebody may not do, or sent wrongly, is one line in the log: a traceback is for what failed here."""

import logging


class WithoutTraceback(logging.Filter):
    """Takes it from what Django logs of an answer below 500."""

    def filter(self, record: logging.LogRecord) -> bool:
        if 400 <= getattr(record, "status_code", 0) < 500:
            record.exc_info = record.exc_text = None
        return True
