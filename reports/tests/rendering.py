"""Parts of pages as the text that a reader sees."""

import re

from django.utils.html import strip_tags

from reports.compare.pages.answer_messages import plain_text


def rendered(template: str, **context: object) -> str:
    """A template of a page below `reports/` without tags and line breaks."""
    return re.sub(" +", " ", strip_tags(plain_text(f"{template}.html", **context))).strip()


def ceiling_sentence(ceiling: object) -> str:
    return rendered("sweep/ceiling_text", ceiling=ceiling)


def knee_sentence(knee: object, ceiling: object) -> str:
    return rendered("sweep/knee_text", knee=knee, ceiling=ceiling) if knee else ""


def ceiling_notes(ceiling: object) -> str:
    return rendered("sweep/target_notes", ceiling=ceiling)
