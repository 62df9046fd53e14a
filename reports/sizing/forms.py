"""What the sizing page is asked, as its address says it."""

import math
import re
from typing import Any, Final

from django import forms
from django.http import QueryDict

from benchsite.core.formatting import exact
from reports.compare.curves import COMPOSITE, STATISTICS
from reports.sizing.analysis import FILL, HEADROOM
from runs.results.pages.lists import Menu

OPERATIONS: Final = ("READ", "UPDATE", "INSERT", "SCAN", "DELETE", COMPOSITE)
EVENTS: Final = {
    "process_crash": "a crash of the server process",
    "node_loss": "the loss of a node with its disk",
    "power_loss": "a power loss of all nodes at once",
}
MAX_NUMBER: Final = 1e12
MAX_COPIES: Final = 20
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d{1,2}))?\s*([kmg]?)(?:\s*ops/s)?", re.IGNORECASE)
_SEPARATOR = re.compile(r"(?<=\d)[\s,_'](?=\d{3}\b)")
_LETTERS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


class NumberField(forms.CharField):
    """A positive number: 200000, 200,000, 200k, 1.5M, 2e5. An empty text is the `initial` number."""

    default_error_messages = {
        "number": "“%(text)s” is no number above 0. Write it like 200000, 200k or 1.5.",
        "limit": "“%(text)s” is no number above 0 of at most %(limit)s. Write it like 200000, 200k or 1.5.",
        "whole": "Copies are a whole number.",
    }

    def __init__(
        self,
        label: str,
        help_text: str,
        example: str = "",
        *,
        limit: float = MAX_NUMBER,
        initial: float | None = None,
        is_whole: bool = False,
    ) -> None:
        attrs = {"autocomplete": "off"}
        if example:
            attrs = {"placeholder": f"e.g. {example}", **attrs}
        widget = forms.TextInput(attrs)
        super().__init__(
            label=label, help_text=help_text, required=False, max_length=80, widget=widget, initial=initial
        )
        self.limit, self.is_whole = limit, is_whole

    def clean(self, value: str | None) -> Any:
        text = super().clean(value)
        if not text:
            return self.initial

        number = math.nan
        match = _NUMBER.fullmatch(_SEPARATOR.sub("", text))
        if match:
            digits, exponent, letter = match.groups()
            number = float(digits) * 10.0 ** int(exponent or 0) * _LETTERS[letter.lower()]
        if not 0 < number <= self.limit:
            self._refuse("number" if self.limit == MAX_NUMBER else "limit", text)
        if not self.is_whole:
            return number

        if number != int(number):
            self._refuse("whole", text)
        return int(number)

    def _refuse(self, code: str, text: str) -> None:
        values = {"text": text[:40], "limit": exact(self.limit)}
        raise forms.ValidationError(self.error_messages[code], code, values)


class OperationField(forms.ChoiceField):
    def to_python(self, value: str | None) -> str:
        return str(super().to_python(value)).upper()


class QuestionForm(forms.Form):
    """A need, in the fields' units. What is empty is None or empty: not asked."""

    fields: dict[str, Any]
    throughput = NumberField("Throughput needed, ops/s", "All operations together.", "200k")
    within = NumberField("Latency limit, ms", "Empty: no limit, the ceiling counts.", "2")
    stat = Menu("Limit for", choices=STATISTICS.items(), initial="p99")
    op = OperationField(
        label="Operation", choices=[("", "every operation"), *((name, name) for name in OPERATIONS)], required=False
    )
    workload = Menu("Workload")
    data = NumberField(  # type: ignore[assignment]  # Django moves it to `fields`
        "Data, GB", "One copy. Empty: storage is not asked about.", "4000"
    )
    copies = NumberField(
        "Copies", "Of every record. Empty: as many as were measured.", "2", limit=MAX_COPIES, is_whole=True
    )
    node = NumberField("A node holds, GB", "Its whole capacity.", "3200")
    headroom = NumberField(
        "Load a node takes", "The share of the measured throughput to use.", limit=1, initial=HEADROOM
    )
    fill = NumberField("Fill", "The share of its capacity that data may take.", limit=1, initial=FILL)
    price = NumberField("Price of a node, US$/h", "Empty: what the machines' facts say.", "2")
    survives = forms.MultipleChoiceField(
        label="An acknowledged write survives",
        choices=EVENTS.items(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    any = forms.BooleanField(label="count demonstrations and tuning too", required=False)

    def __init__(self, query: QueryDict) -> None:
        data = query.copy()
        for name in ("stat", "headroom", "fill"):
            data[name] = query.get(name) or self.base_fields[name].initial
        super().__init__(data)

    def clean(self) -> None:
        question = self.cleaned_data
        if question.get("data") is not None and "node" in question and question["node"] is None:
            self.add_error("node", "Say how many GB a node holds, or leave the size of the data empty.")

    @property
    def is_answerable(self) -> bool:
        return self.is_valid() and self.cleaned_data["throughput"] is not None
