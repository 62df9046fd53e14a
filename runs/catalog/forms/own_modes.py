"""The form of a database's own durability mode: a copy of one of the system's modes, with the record that is stated."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.text import slugify

from benchsite.core.formatting import enumerated
from runs.catalog import MAX_OWN_MODES, STATED_SUFFIX, Mode, OwnMode, PropertyError, System
from runs.catalog.durability import ACKS, READS
from runs.catalog.forms.fields import IN_USE, DescribedForm, PropertiesField, name_field
from runs.catalog.messages import (
    DELETE_MATRICES_FIRST,
    MODE_NAME_BEGINS_WITH_LETTER,
    MODE_UNCHANGED,
    OWN_MODE_DOES_NOT_FIT,
    OWN_MODE_STAYS,
    OWN_MODE_TAKEN,
    PROMISE_NOT_STATED,
    SAVE_A_COPY,
    TOO_MANY_OWN_MODES,
)
from runs.models import Database, Deployment, MatrixEntry
from runs.results.pages.durability import ACKS as ACK_TEXTS, READS as READ_TEXTS

MAX_SLUG_LENGTH = 40
FIELDS = ("ack", "replicas_acked", "replica_ack", "reads", "loss_window_s", "worst_loss_window_s")


class OwnModeForm(DescribedForm):
    """`base` is the copied mode of `system`, as the client of the database reaches it, without own modes.

    It begins with the record and the settings of the own mode `copied`, where there is one, and the mode that is saved
    takes the place of the own mode `replaced`.
    """

    name = name_field(
        MAX_SLUG_LENGTH - len(STATED_SUFFIX),
        help_text="Short, such as always-tuned. Figures, tables and reports show “-stated” after it.",
    )
    ack = forms.ChoiceField(label="A write is acknowledged when it is", choices=[(ack, ACK_TEXTS[ack]) for ack in ACKS])
    replicas_acked = forms.CharField(
        label="Other copies that have answered", max_length=6, help_text="A number, quorum or all."
    )
    replica_ack = forms.ChoiceField(label="They have it", choices=[(ack, ACK_TEXTS[ack]) for ack in ACKS])
    reads = forms.ChoiceField(label="Reads come from", choices=[(reads, READ_TEXTS[reads]) for reads in READS])
    loss_window_s = forms.FloatField(
        label="A power failure of one node may lose, s",
        required=False,
        min_value=0,
        help_text="Seconds of acknowledged writes; 0: none; empty: unbounded.",
    )
    worst_loss_window_s = forms.FloatField(label="Where the disk is slow, s", required=False, min_value=0)
    restated = forms.BooleanField(
        label="This promise holds with the settings below",
        required=False,
        help_text="Tick it where you change settings and leave the promise as it is.",
    )
    server_settings = PropertiesField(
        rows=6, help_text="name=value, one per line. Benchsite reads them back before and after every run."
    )
    client_properties = PropertiesField(rows=4, help_text="name=value, one per line.")

    def __init__(
        self,
        *args: Any,
        database: Database,
        system: System,
        base: Mode,
        copied: OwnMode | None = None,
        replaced: str = "",
        **kwargs: Any,
    ) -> None:
        self.database, self.system, self.base, self.replaced = database, system, base, replaced
        self.catalog_mode: dict[str, Any] = {
            "durability": base.durability.model_dump(),
            "server_settings": base.server_settings,
            "client_properties": base.client_properties,
        }
        self.copied_mode: dict[str, Any] = {**self.catalog_mode, **(copied or {})}
        name = replaced.removesuffix(STATED_SUFFIX)
        kwargs["initial"] = {**self.copied_mode, **self.copied_mode["durability"], "name": name}
        super().__init__(*args, **kwargs)

    def clean_replicas_acked(self) -> int | str:
        text = self.cleaned_data["replicas_acked"].strip()
        return int(text) if text.isdecimal() else text

    def clean_name(self) -> str:
        slug: str = slugify(self.cleaned_data["name"]).replace("_", "-")
        if not slug[:1].isalpha():
            raise ValidationError(MODE_NAME_BEGINS_WITH_LETTER)
        return slug.removesuffix(STATED_SUFFIX) + STATED_SUFFIX

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned

        slug = cleaned["name"]
        own: OwnMode = {
            "base": self.base.slug,
            "name": f"{self.base.name}, as stated",
            "durability": {name: cleaned[name] for name in FIELDS},
            "server_settings": cleaned["server_settings"],
            "client_properties": cleaned["client_properties"],
        }
        try:
            self.own = self.system.check_own_mode(slug, own)
            system = self.system.with_own_modes({slug: self.own})
            system.check_settings(self.database.settings)
            system.check_binding_properties(self.database.binding_properties)
        except PropertyError as error:
            for name, message in error.problems.items():
                self.add_error(name if name in self.fields else None, message)

        if self.errors:
            return cleaned

        if not self._has_new_promise(self.catalog_mode) and not self._list_changes(self.catalog_mode):
            self.add_error(None, MODE_UNCHANGED.format(slug=self.base.slug))
        # The catalog knows what its own modes lose, and nothing of what other settings do.
        changes = self._list_changes(self.copied_mode)
        if changes and not cleaned["restated"] and not self._has_new_promise(self.copied_mode):
            self.add_error("restated", PROMISE_NOT_STATED.format(settings=enumerated(changes)))

        return cleaned

    def _has_new_promise(self, before: Mapping[str, Any]) -> bool:
        return bool(self.own["durability"] != before["durability"])

    def _list_changes(self, before: Mapping[str, Any]) -> list[str]:
        """The names of the settings and properties that differ from those before."""
        pairs = [
            (before["server_settings"], self.own["server_settings"]),
            (before["client_properties"], self.own["client_properties"]),
        ]
        return sorted(name for old, new in pairs for name in {**old, **new} if old.get(name) != new.get(name))

    @transaction.atomic
    def save(self) -> str:
        """Store the mode; answers its slug. Raises ValidationError where the name is taken, there are too many, or
        something uses the one that it replaces.
        """
        database = Database.objects.select_for_update().get(pk=self.database.pk)
        slug: str = self.cleaned_data["name"]
        if self.replaced and (user := find_user(database, self.replaced)):
            raise ValidationError(OWN_MODE_STAYS.format(slug=self.replaced, user=user, remedy=SAVE_A_COPY), IN_USE)
        others = {name: own for name, own in database.own_modes.items() if name != self.replaced}
        if slug in others:
            raise ValidationError({"name": OWN_MODE_TAKEN.format(database=database.name, slug=slug)})
        if len(others) >= MAX_OWN_MODES:
            raise ValidationError(TOO_MANY_OWN_MODES.format(limit=MAX_OWN_MODES))
        database.own_modes = {**others, slug: self.own}
        database.save(update_fields=["own_modes"])
        return slug


def find_user(database: Database, slug: str) -> str:
    """What has the own mode, in words; empty where nothing has."""
    entry = MatrixEntry.objects.filter(database=database, mode=slug).select_related("matrix").first()
    if entry is not None:
        return f"the matrix “{entry.matrix.name}”"
    if Deployment.objects.filter(database=database, mode=slug).exists():
        return "a server that is up"
    return ""


@transaction.atomic
def delete_own_mode(pk: UUID, slug: str) -> None:
    """Delete an own mode of the database: its record is then part of no result to come. Raises ValidationError, which
    names the matrix, where one has it.
    """
    database = Database.objects.select_for_update().get(pk=pk)
    if user := find_user(database, slug):
        raise ValidationError(OWN_MODE_STAYS.format(slug=slug, user=user, remedy=DELETE_MATRICES_FIRST), IN_USE)
    database.own_modes = {name: own for name, own in database.own_modes.items() if name != slug}
    database.save(update_fields=["own_modes"])


def own_mode_problem(database: Database, system: System) -> str:
    """Why the own modes of a database cannot be those of `system`; empty where they can."""
    for slug, own in database.own_modes.items():
        try:
            system.check_own_mode(slug, own)
        except PropertyError as error:
            return OWN_MODE_DOES_NOT_FIT.format(slug=slug, error=error)
    return ""
