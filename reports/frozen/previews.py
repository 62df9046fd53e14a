"""What an author looks at before publishing: built once, and kept while its figures are fetched one by one."""

from typing import Any, Final

from reports.frozen.builder import Built
from reports.frozen.content import Content
from reports.frozen.publication import built, shown_digest
from reports.models import Report
from reports.queries.computed_cache import cache_values, cached_values, key_of

LENGTH: Final = 64


def preview_of(report: Report) -> tuple[Built, str]:
    """The report as it would be published now, and the digest by which its figures are asked for."""
    made = built(report)
    digest = shown_digest(made.content)
    cache_values({_key(report, digest): made.content})
    return made, digest


def previewed(report: Report, digest: str) -> Content:
    """What was shown under that digest; built anew where it is no longer kept."""
    key = _key(report, digest[:LENGTH])
    entries: dict[str, Content] = cached_values({key: key}, dict[str, Any])
    content: Content = entries.get(key) or built(report).content
    return content


def _key(report: Report, digest: str) -> str:
    return key_of(report.team_id, "report preview", report.pk, digest)
