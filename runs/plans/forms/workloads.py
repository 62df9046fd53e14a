"""The two forms of one workload: number fields, or YCSB properties as text.

A property that YCSB would ignore in silence is refused by name.
"""

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from benchsite.core.formatting import exact
from runs.catalog.forms.fields import NamedForm, PropertiesField, name_field, notes_field
from runs.models import Workload
from runs.plans.messages import LONG_FIELDS, NO_SIZE, UNEVEN_RECORD
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import CORE_WORKLOADS, PROPORTIONS, WORKLOAD_PROPERTIES, check_workload

SHORT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,11}", re.ASCII)
MAX_DIVISOR = 1000  # fields that are proposed
DEFAULTS = {name: declared.default for name, declared in WORKLOAD_PROPERTIES.items()}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.ASCII | re.IGNORECASE)
SIZE_UNITS = {"": 1, "b": 1, "k": 1000, "kb": 1000, "kib": 1024, "m": 1000**2, "mb": 1000**2, "mib": 1024**2}
EXAMPLES = {
    "A": "update heavy: half reads, half updates",
    "B": "read mostly: 95 % reads, 5 % updates",
    "C": "read only",
    "D": "read latest: 5 % inserts, new records are read most",
    "E": "short ranges: 95 % scans, 5 % inserts",
    "F": "read, modify, write back: half of the operations",
}


def preset(letter: str) -> dict[str, Any] | None:
    """The initial values for one of YCSB's own workloads; None for another letter."""
    if letter not in CORE_WORKLOADS:
        return None
    return {
        "name": f"YCSB {letter}: {EXAMPLES[letter].partition(':')[0]}",
        "short_name": letter,
        "properties": {**CORE_WORKLOADS[letter], "recordcount": "100000"},
    }


def parse_size(text: str) -> int:
    """Whole bytes of "4 KB" or "4096". Raises ValueError."""
    match = SIZE.fullmatch(text.strip())
    if not match or match[2].lower() not in SIZE_UNITS:
        raise ValueError(text)
    size = float(match[1]) * SIZE_UNITS[match[2].lower()]
    if not size.is_integer() or not size:
        raise ValueError(text)
    return int(size)


def in_order(properties: dict[str, str]) -> dict[str, str]:
    """The properties in the order in which YCSB's own files have them; JSON columns do not keep one."""
    order = {name: number for number, name in enumerate(WORKLOAD_PROPERTIES)}
    return dict(sorted(properties.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))


class WorkloadForm(NamedForm):
    model = Workload
    used_as = "sweep__workload"
    name = name_field(help_text="The name in lists and figures.")
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

    def _is_changed(self, name: str) -> bool:
        """Equal properties may be stated with or without their defaults."""
        if name != "properties":
            return super()._is_changed(name)
        try:
            stored = check_workload(self.instance.properties)
        except PropertyError:
            return True
        return bool(DEFAULTS | stored != DEFAULTS | self.cleaned_data["properties"])


def _number(name: str, label: str, help_text: str = "") -> forms.IntegerField:
    declared = WORKLOAD_PROPERTIES[name]
    return forms.IntegerField(
        min_value=int(declared.least or 0), max_value=int(declared.most or 0), label=label, help_text=help_text
    )


def _share(operation: str) -> forms.FloatField:
    widget = forms.NumberInput(attrs={"min": 0, "max": 100, "step": "any"})
    return forms.FloatField(min_value=0, max_value=100, label=operation, widget=widget)


class WorkloadFieldsForm(WorkloadForm):
    """The same workload with a field for each property that most workloads set; the names are those of YCSB.

    Shares are percentages that add up to 100. `properties` has what has no field of its own.
    """

    recordcount = _number("recordcount", "Records", "Loaded before anything is measured.")
    fieldcount = _number("fieldcount", "Fields of a record")
    fieldlength = _number("fieldlength", "Field length", "Bytes.")
    recordsize = forms.CharField(
        required=False, max_length=20, label="Record size",
        help_text="Such as 4 KB or 4 KiB, in all fields together: sets the field length.",
    )  # fmt: skip
    readproportion = _share("Read")
    updateproportion = _share("Update")
    insertproportion = _share("Insert")
    scanproportion = _share("Scan")
    readmodifywriteproportion = _share("Read-modify-write")
    deleteproportion = _share("Delete")
    requestdistribution = forms.ChoiceField(
        choices=[(name, name) for name in WORKLOAD_PROPERTIES["requestdistribution"].choices],
        label="Request distribution",
        help_text="Which records the operations use.",
    )
    properties = PropertiesField(
        rows=5, label="Further YCSB properties", help_text="name=value, one per line, such as dataintegrity=true."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        properties = dict(self.initial["properties"])
        weights = {name: float(properties.pop(name, 0)) for name in PROPORTIONS}
        # YCSB takes weights of any sum. Rounding hides the error of adding and dividing binary fractions.
        total = sum(weights.values()) or 1
        self.initial.update({name: exact(round(100 * weight / total, 8)) for name, weight in weights.items()})
        for name in ("recordcount", "fieldcount", "fieldlength", "requestdistribution"):
            self.initial[name] = properties.pop(name, WORKLOAD_PROPERTIES[name].default)
        self.initial["properties"] = properties

    def clean_recordsize(self) -> int | None:
        text = self.cleaned_data["recordsize"]
        try:
            return parse_size(text) if text.strip() else None
        except ValueError:
            raise ValidationError(NO_SIZE.format(text=text)) from None

    def _divide_record(self, cleaned: dict[str, Any]) -> None:
        """Set the length of the fields where the size of a record is stated."""
        size, count = cleaned.get("recordsize"), cleaned.get("fieldcount")
        if not size or not count:
            return
        if size % count:
            divisors = [number for number in range(1, MAX_DIVISOR + 1) if not size % number]
            nearest = min(divisors, key=lambda number: abs(number - count))
            self.add_error("recordsize", UNEVEN_RECORD.format(size=size, count=count, nearest=nearest))
        elif size // count > int(WORKLOAD_PROPERTIES["fieldlength"].most or 0):
            self.add_error("recordsize", LONG_FIELDS.format(count=count))
        else:
            cleaned["fieldlength"] = size // count
            self.errors.pop("fieldlength", None)

    def clean_properties(self) -> dict[str, str]:
        properties: dict[str, str] = self.cleaned_data["properties"]
        if fields := sorted(properties.keys() & self.fields.keys()):
            raise ValidationError(f"{fields[0]} has a field of its own: leave it out here.")
        return properties

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        self._divide_record(cleaned)
        if self.errors:
            return cleaned

        total = sum(cleaned[name] for name in PROPORTIONS)
        if abs(total - 100) > 1e-6:
            raise ValidationError(
                f"The operations add up to {exact(round(total, 8))} %. Change the shares so that they add up to 100 %."
            )

        texts = {name: str(cleaned[name]) for name in WORKLOAD_PROPERTIES if name in cleaned}
        shares = {name: str(round(cleaned[name] / 100, 10)) for name in PROPORTIONS}
        try:
            cleaned["properties"] = check_workload({**texts, **shares, **cleaned["properties"]})
        except PropertyError as error:
            for name, message in error.problems.items():
                self.add_error(name if name in self.fields else "properties", message)

        return cleaned
