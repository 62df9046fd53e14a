"""The form of a schedule: when a matrix is repeated."""

from typing import Any

from django import forms

from runs.models import Schedule
from runs.schedules.times import DAYS, EVERY_HOURS, Rule


class ScheduleForm(forms.Form):
    name = forms.CharField(max_length=80, help_text="What it submits is called by this and the time.")
    every = forms.ChoiceField(label="Repeat it", choices=Schedule.Every.choices, widget=forms.RadioSelect)
    at = forms.TimeField(
        label="At, UTC", input_formats=["%H:%M", "%H:%M:%S"],
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        error_messages={"invalid": "Write a time of the day such as 03:00."},
        help_text="Every few hours are counted from here.",
    )  # fmt: skip
    hours = forms.TypedChoiceField(
        label="Hours between", coerce=int, choices=[(hours, str(hours)) for hours in EVERY_HOURS],
        help_text="Only for every few hours.",
    )  # fmt: skip
    days = forms.TypedMultipleChoiceField(
        label="Days of the week", coerce=int, required=False, choices=list(enumerate(DAYS)),
        widget=forms.CheckboxSelectMultiple, help_text="Only for days of the week.",
    )  # fmt: skip

    def __init__(self, *args: Any, instance: Schedule | None = None, name: str = "", **kwargs: Any) -> None:
        initial: dict[str, Any] = {"name": name[:80], "every": "day", "at": "03:00", "hours": 6, "days": []}
        if instance is not None:
            initial = {field: getattr(instance, field) for field in self.base_fields}
        super().__init__(*args, **{"initial": initial, **kwargs})

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("every") == Schedule.Every.WEEK and not cleaned.get("days"):
            self.add_error("days", "Choose at least one day of the week.")
        return cleaned

    @property
    def rule(self) -> Rule:
        """When, once the form is valid."""
        data = self.cleaned_data
        return Rule(data["every"], data["at"].replace(second=0), data["hours"], tuple(data["days"]))
