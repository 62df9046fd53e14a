"""What somebody fills in to build a report. Everything works without JavaScript: order is a number beside each part."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, Self

from django import forms
from django.http import QueryDict
from django.utils import timezone

from benchsite.core.formatting import printable
from reports.compare.pages.tables import Item
from reports.models import Report
from reports.published.builder import Built
from reports.published.drafts import (
    CELL_SEPARATOR,
    MAX_DISCLOSURE,
    MAX_FOOTNOTE,
    MAX_FOOTNOTES,
    MAX_HEADLINE,
    MAX_NOTES_LENGTH,
    Draft,
    DraftFootnote,
)
from reports.published.messages import TITLE_UNREADABLE
from reports.published.publication import MAX_LIFE, MAX_TITLE_LENGTH, with_proposal

SPARE_FOOTNOTES: Final = 2  # empty lines for more
# Fields of the form of texts that are those of a draft.
WRITTEN: Final = ("notes", "paid_by", "vendor_relations", "settings_reviewed_by")
ACCESS_SAYS: Final = {
    Report.Access.PRIVATE: "private: members of the team, signed in",
    Report.Access.UNLISTED: "unlisted: everybody with the link, no account needed, hidden from search engines",
    Report.Access.PUBLIC: "public: everybody; also listed on the team's public page",
}


class TextsForm(forms.Form):
    """What people write into a report."""

    title = forms.CharField(max_length=MAX_TITLE_LENGTH)
    headline = forms.CharField(
        max_length=MAX_HEADLINE,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Proposed from the numbers. Left so, or empty, it follows them; rewritten, it stays.",
    )
    notes = forms.CharField(
        max_length=MAX_NOTES_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 10}),
        help_text="Markdown: **bold**, lists, tables, links. HTML is shown as text, pictures as links.",
    )
    paid_by = forms.CharField(label="Who paid for it", max_length=MAX_DISCLOSURE, required=False)
    vendor_relations = forms.CharField(label="Relations to vendors", max_length=MAX_DISCLOSURE, required=False)
    settings_reviewed_by = forms.CharField(label="Who reviewed the settings", max_length=MAX_DISCLOSURE, required=False)

    def clean_title(self) -> str:
        title = printable(self.cleaned_data["title"], " ").strip()
        if not title:
            raise forms.ValidationError(TITLE_UNREADABLE)
        return title


class AccessForm(forms.Form):
    """Who may read it, and until when."""

    access = forms.ChoiceField(
        label="Who may read it", choices=[(key.value, says) for key, says in ACCESS_SAYS.items()],
        widget=forms.RadioSelect,
    )  # fmt: skip
    expires_on = forms.DateField(
        label="The link works until",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text="The last day, UTC. Empty: until it is revoked.",
    )

    def clean_expires_on(self) -> dt.date | None:
        day: dt.date | None = self.cleaned_data["expires_on"]
        today = timezone.now().date()
        if day and day < today:
            raise forms.ValidationError(
                f"{day} is over: choose today or later, or revoke the link to close it at once."
            )
        if day and day > today + MAX_LIFE:
            raise forms.ValidationError("Choose a day within ten years, or leave it empty.")
        return day

    def without_public(self) -> Self:
        """Not offered to whom it would be refused; what is sent nevertheless is answered by the verb."""
        choices = [choice for choice in self.fields["access"].choices if choice[0] != Report.Access.PUBLIC]  # type: ignore[attr-defined]
        self.fields["access"].widget.choices = choices
        self.fields["access"].help_text = "The team's admins can also make it public."
        return self

    @property
    def expires_at(self) -> dt.datetime | None:
        """The first moment at which the link is closed."""
        day: dt.date | None = self.cleaned_data["expires_on"]
        return dt.datetime.combine(day + dt.timedelta(days=1), dt.time(), dt.UTC) if day else None


def access_initial(report: Report) -> dict[str, Any]:
    """The initial values of the form of access."""
    day = None
    if report.expires_at:
        day = (report.expires_at - dt.timedelta(microseconds=1)).date()
    return {"access": report.access, "expires_on": day}


def list_items(built_report: Built) -> list[Item]:
    """The shown items in their order, then the rest."""
    items = {item.name: item for item in built_report.items}
    return [items[name] for name in dict.fromkeys([*built_report.content["order"], *items])]


def list_footnotes(draft: Draft) -> list[DraftFootnote]:
    """Those that stand, and a few empty ones."""
    spare = min(SPARE_FOOTNOTES, MAX_FOOTNOTES - len(draft.footnotes))
    return [*draft.footnotes, *[DraftFootnote("", "", "", "")] * spare]


def footnote_choices(built_report: Built) -> list[tuple[str, list[tuple[str, str]]]]:
    """The columns of each table that is shown and has a row for each side."""
    titles = {item.name: item.title for item in built_report.items}
    return [
        (titles[table], [(DraftFootnote(table, "", column, "").cell, column) for column in columns])
        for table, columns in built_report.columns.items()
    ]


def posted_footnotes(posted: QueryDict, built_report: Built) -> tuple[DraftFootnote, ...]:
    """Lines with a text and choices of the form; whoever empties a text takes its footnote away."""
    cells, sides, texts = (posted.getlist(f"footnote-{name}") for name in ("cell", "side", "text"))
    known_sides = set(chain.from_iterable(built_report.rows.values()))
    footnotes = []
    for cell, side, text in zip(cells, sides, texts, strict=False):
        table, _, column = cell.partition(CELL_SEPARATOR)
        line = printable(" ".join(text.split()))[:MAX_FOOTNOTE]
        if line and side in known_sides and column in built_report.columns.get(table, ()):
            footnotes.append(DraftFootnote(table, side, column, line))
    return tuple(footnotes[:MAX_FOOTNOTES])


def changed_draft(draft: Draft, texts: Mapping[str, str], posted: QueryDict, built_report: Built) -> Draft:
    """The draft as the form says it."""
    available = {item.name for item in built_report.items}

    def number(name: str) -> float:
        try:
            return float(posted.get(f"place-{name}", ""))
        except ValueError:
            return float("inf")

    # The selected parts by their numbers; equal numbers and none stay in the order of the form.
    selected = [name for name in dict.fromkeys(posted.getlist("show")) if name in available]
    values = {name: texts[name] for name in WRITTEN}
    changed = replace(
        draft,
        items=tuple(sorted(selected, key=number)),
        footnotes=posted_footnotes(posted, built_report),
        **values,  # type: ignore[arg-type]
    )
    return with_proposal(changed, texts["headline"], built_report.headline)


def texts_initial(draft: Draft, title: str, proposed: str) -> dict[str, str]:
    """The initial values of the form of texts."""
    written = {name: getattr(draft, name) for name in WRITTEN}
    return {"title": title, "headline": draft.headline or proposed, **written}


def with_kept(draft: Draft, posted: QueryDict, texts: Sequence[str]) -> Draft:
    """The draft in which the selected findings stay visible."""
    return replace(draft, kept=tuple(text for text in dict.fromkeys(posted.getlist("keep")) if text in texts))
