"""What the API takes and says of frozen reports."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Schema
from pydantic import ConfigDict, Field, StringConstraints

from benchsite.rest.paging import PageAnswer
from benchsite.rest.schemas import Moment, RequestSchema, Text, Word
from reports.compare.pages.tables import Item
from reports.published.drafts import MAX_FOOTNOTES, MAX_HEADLINE, MAX_ITEMS, MAX_KEPT, MAX_QUERY_LENGTH
from reports.published.links import get_site_url

Access = Literal["private", "unlisted", "public"]
Query = Annotated[Text, StringConstraints(max_length=MAX_QUERY_LENGTH)]


def report_address(request: HttpRequest, token: str) -> str:
    """Where the report is read, with the site's own address."""
    return f"{get_site_url(request)}/r/{token}"


class FootnoteEntry(RequestSchema):
    """A remark on one cell: of the row that begins with `side`, in the column of that name."""

    table: Word
    side: Word
    column: Word
    text: Annotated[Text, StringConstraints(min_length=1, max_length=500)]


class DisclosureFields(RequestSchema):
    """Whatever is empty reads “not stated”."""

    paid_by: Annotated[Text, StringConstraints(max_length=500)] = ""
    vendor_relations: Annotated[Text, StringConstraints(max_length=500)] = ""
    settings_reviewed_by: Annotated[Text, StringConstraints(max_length=500)] = ""


class ReportChange(RequestSchema):
    """What is left out stays as it is."""

    title: Annotated[Word, StringConstraints(min_length=1)] | None = None
    query: Query | None = Field(None, description="The query string of the compare page: `v=1&matrix=…&mode=always`.")
    items: Annotated[list[Word], Field(max_length=MAX_ITEMS)] | None = Field(
        None, description="Names of figures and tables in their order; empty: the usual ones."
    )
    headline: Annotated[Text, StringConstraints(max_length=MAX_HEADLINE)] | None = Field(
        None, description="Empty: the sentence that the numbers propose."
    )
    notes: Text | None = Field(None, description="Markdown.")
    disclosures: DisclosureFields | None = None
    footnotes: Annotated[list[FootnoteEntry], Field(max_length=MAX_FOOTNOTES)] | None = None
    may_be_seen: Annotated[list[Word], Field(max_length=MAX_KEPT)] | None = Field(
        None, description="Of what was `found`, that which readers shall see nevertheless."
    )


class NewReport(ReportChange):
    """A report about one comparison. It is published at once, with its first revision."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "title": "What durability costs",
                    "query": "v=1&matrix=0197f9d4-0000-7000-8000-000000000000",
                    "items": ["ceilings", "latency-read", "table-against"],
                    "access": "unlisted",
                    "disclosures": {"paid_by": "ourselves"},
                }
            ]
        }
    )

    title: Annotated[Word, StringConstraints(min_length=1)]
    query: Query
    access: Access = "unlisted"
    expires_at: Moment | None = Field(None, description="When its link stops working; null: it does not.")


class AccessChange(RequestSchema):
    """Who may read it, and until when. What is left out stays as it is."""

    access: Access | None = None
    expires_at: Moment | None = None


class DryRun(Schema):
    dry_run: bool = Field(False, description="1: only say what would be published; nothing is stored.")


class FoundEntry(Schema):
    """Something in the report's texts that outsiders perhaps should not read."""

    text: str
    kind: str
    becomes: str = Field(description="What readers see; the same as `text` where it stays.")
    where: list[str]


class ItemEntry(Schema):
    """A figure or a table that this comparison has."""

    name: str
    title: str
    kind: Literal["figure", "table"]

    @staticmethod
    def resolve_kind(item: Item) -> str:
        return "table" if item.is_table else "figure"


class ReportPreview(Schema):
    """What would be published now."""

    headline: str
    proposed_headline: str
    items: list[str] = Field(description="What is shown, in its order.")
    available: list[ItemEntry]
    found: list[FoundEntry]
    problems: list[str]
    bytes: int = Field(description="Of its canonical JSON.")


class RevisionAnswer(Schema):
    """What was published once; it never changes."""

    number: int
    title: str
    headline: str
    sha256: str = Field(
        validation_alias="digest", description="Of its canonical JSON, which the permalink with `.json` answers."
    )
    published_at: datetime
    imported_at: datetime | None = Field(description="Null: published here.")
    bytes: int = Field(description="As it is kept, compressed.")


class ReportAnswer(Schema):
    """One report with its revisions, the newest first."""

    id: UUID
    title: str
    access: Access
    expires_at: datetime | None
    permalink: str | None = Field(description="Null: its link was revoked, or nothing is published yet.")
    page: str = Field(description="Where members of the team change it.")
    revisions: list[RevisionAnswer]


class PublishedAnswer(ReportAnswer):
    """The report after a revision was published."""

    found: list[FoundEntry]
    problems: list[str]


class ReportLine(Schema):
    """One report in a list."""

    id: UUID
    title: str
    access: Access
    expires_at: datetime | None
    permalink: str | None
    revisions: int = Field(validation_alias="revisions_made")
    created_at: datetime
    published_at: datetime | None

    @staticmethod
    def resolve_permalink(report: Any, context: Mapping[str, Any]) -> str | None:
        return report_address(context["request"], report.token) if report.token else None


class ReportPage(PageAnswer):
    """Reports, the newest first."""

    items: list[ReportLine]


class LinkAnswer(Schema):
    permalink: str
