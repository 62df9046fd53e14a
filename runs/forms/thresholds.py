"""The form of one threshold: a team's value instead of the default, and why."""

from typing import Any

from django import forms

from runs.forms.fields import DescribedForm
from runs.models.plan import Purpose
from runs.thresholds import MAX_REASON_LENGTH
from runs.validity.profile import Threshold

EVERY_PURPOSE = "every purpose"


class ThresholdForm(DescribedForm):
    value = forms.FloatField(widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}))
    purpose = forms.ChoiceField(
        required=False,
        choices=[("", EVERY_PURPOSE), *Purpose.choices],
        label="For",
        help_text="One for a single purpose outweighs one for every purpose.",
    )
    reason = forms.CharField(
        max_length=MAX_REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Everybody who wonders about a verdict reads it.",
        error_messages={"required": "Write why the default does not suit your runs."},
    )

    def __init__(self, *args: Any, threshold: Threshold, **kwargs: Any) -> None:
        self.scale = 100.0 if threshold.unit == "share" else 1.0
        super().__init__(*args, **kwargs)
        unit = {"share": "in %", "s": "in seconds", "ops/s": "in ops/s"}.get(threshold.unit, "")
        self.fields["value"].label = f"Value {unit}".strip()

    def clean_value(self) -> float:
        """The value in the unit of the profile: shares are fractions there."""
        value: float = self.cleaned_data["value"]
        return value / self.scale
