"""The form of one workload: YCSB properties, refused by name where YCSB would ignore them in silence."""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from runs.forms.fields import NamedForm, PropertiesField, name_field, notes_field
from runs.models import Workload
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import CORE_WORKLOADS, WORKLOAD_PROPERTIES, check_workload

SHORT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,11}", re.ASCII)
EXAMPLES = {
    "A": "update heavy: half reads, half updates",
    "B": "read mostly: 95 % reads, 5 % updates",
    "C": "read only",
    "D": "read latest: 5 % inserts, new records are read most",
    "E": "short ranges: 95 % scans, 5 % inserts",
    "F": "read, modify, write back: half of the operations",
}


def preset(letter: str) -> dict[str, Any] | None:
    """What the form begins with for one of YCSB's own workloads; None for another letter."""
    if letter not in CORE_WORKLOADS:
        return None
    return {
        "name": f"YCSB {letter}: {EXAMPLES[letter].partition(':')[0]}",
        "short_name": letter,
        "properties": {**CORE_WORKLOADS[letter], "recordcount": "100000"},
    }


def in_order(properties: dict[str, str]) -> dict[str, str]:
    """The properties in the order in which YCSB's own files have them; JSON columns do not keep one."""
    places = {name: place for place, name in enumerate(WORKLOAD_PROPERTIES)}
    return dict(sorted(properties.items(), key=lambda item: (places.get(item[0], len(places)), item[0])))


class WorkloadForm(NamedForm):
    model = Workload
    name = name_field(help_text="As it is to be called in lists and figures.")
    short_name = forms.CharField(
        max_length=12, help_text="A few letters for the names of its runs: A in “redis always A 16t r1”."
    )
    properties = PropertiesField(
        rows=16,
        required=True,
        label="YCSB properties",
        help_text="name=value, one per line. Threads, target and duration come from the matrix.",
        error_messages={"required": "Write at least recordcount and one proportion, or begin with a preset."},
    )
    notes = notes_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance:
            self.initial["properties"] = in_order(self.instance.properties)

    def clean_short_name(self) -> str:
        short: str = self.cleaned_data["short_name"].strip()
        if not SHORT_NAME.fullmatch(short):
            raise ValidationError("Use 1 to 12 letters, digits, dots or hyphens, without blanks.")
        return short

    def clean_properties(self) -> dict[str, str]:
        try:
            return check_workload(self.cleaned_data["properties"])
        except PropertyError as error:
            raise ValidationError([ValidationError(message) for message in error.problems.values()]) from error
