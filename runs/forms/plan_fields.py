"""The fields of a form, made from those of a plan: labels, texts and limits are the plan's own."""

from types import NoneType
from typing import Any, get_args, get_origin

from django import forms
from pydantic.fields import FieldInfo

from runs.forms.fields import NumbersField, TagsField
from runs.planning.plan_spec import Between, OneOf, PlanRequest

# Shown in rows and fields of their own.
NESTED = ("search", "faults")
LONG_TEXT = 1_000


def plan_fields() -> dict[str, forms.Field]:
    return {name: _field(field) for name, field in PlanRequest.model_fields.items() if name not in NESTED}


def _field(field: FieldInfo) -> forms.Field:
    kind, limits = field.annotation, field.metadata
    texts: dict[str, Any] = {
        "label": field.title, "help_text": field.description or "",
        "initial": field.get_default(call_default_factory=True),
    }  # fmt: skip
    is_optional = NoneType in get_args(kind)
    if is_optional:
        kind, *limits = get_args(get_args(kind)[0])
    for limit in limits:
        if isinstance(limit, Between):
            return forms.IntegerField(min_value=limit.low, max_value=limit.high, required=not is_optional, **texts)  # type: ignore[arg-type]
        if isinstance(limit, OneOf):
            return forms.ChoiceField(choices=list(limit.labels.items()), required="" not in limit.labels, **texts)
    if kind is bool:
        return forms.BooleanField(required=False, **texts)
    if get_origin(kind) is list:
        item = get_args(get_args(kind)[0])[0]
        return NumbersField(required=False, **texts) if item is int else TagsField(required=False, **texts)
    return _text_field(limits, texts)


def _text_field(limits: list[Any], texts: dict[str, Any]) -> forms.CharField:
    longest = next(limit.max_length for limit in limits if getattr(limit, "max_length", None))
    area = forms.Textarea(attrs={"rows": 3})
    widget = area if longest > LONG_TEXT else forms.TextInput(attrs={"autocomplete": "off"})
    return forms.CharField(required=False, max_length=longest, widget=widget, **texts)
