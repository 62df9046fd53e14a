"""The fields of a form, made from those of a plan: labels, texts and limits are the plan's own."""

from collections.abc import Iterable
from types import NoneType
from typing import Any, Final, get_args

from django import forms
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from runs.catalog.forms.fields import NumbersField, TagsField
from runs.plans.plan_spec import Between, OneOf, Patience, PlanRequest, PlanSearch, PlanSlo, Profile, Shown, Table
from runs.plans.profiles import ProfileError, parse_profile

MAX_PROFILE_CHARACTERS: Final = 300_000
LONG_TEXT: Final = 1_000  # characters
PATIENCE: Final[TypeAdapter[float | str]] = TypeAdapter(Patience)
NESTED: Final = ("search", "slo", "faults", "builds", "groups")  # their parts are fields, or rows


class ProfilePoints(list[list[float]]):
    """Points [second, %]; `peak_ops_s` is what 100 % are where they were written as rates, else None."""

    def __init__(self, points: Iterable[list[float]] = (), peak_ops_s: int | None = None) -> None:
        super().__init__(points)
        self.peak_ops_s = peak_ops_s


class ScaledField(forms.FloatField):
    """A number that is shown and typed in another unit."""

    def __init__(self, *, scale: float, min_value: float, max_value: float, **kwargs: Any) -> None:
        self.scale = scale
        super().__init__(min_value=scale * min_value, max_value=scale * max_value, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, int | float):
            return round(self.scale * value, 6)
        return value

    def clean(self, value: Any) -> float | None:
        number = super().clean(value)
        return None if number is None else round(number / self.scale, 9)


class PatienceField(forms.CharField):
    """A number of milliseconds, or never."""

    def clean(self, value: Any) -> float | str:
        try:
            return PATIENCE.validate_strings(super().clean(value) or "1")
        except ValidationError as refusal:
            limit = refusal.errors()[0].get("ctx", {}).get("error", "must be a number such as 5, or never")
            raise forms.ValidationError(f"It {limit}.") from None


class ProfileField(forms.CharField):
    """Lines of points. Where they are recorded rates, `peak_ops_s` of the points is the highest."""

    def __init__(self, **kwargs: Any) -> None:
        area = forms.Textarea(attrs={"rows": 4, "class": "mono", "spellcheck": "false"})
        super().__init__(widget=area, max_length=MAX_PROFILE_CHARACTERS, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, list):
            return "\n".join(f"{second}, {percent}" for second, percent in value)
        return value

    def clean(self, value: Any) -> ProfilePoints:
        try:
            return ProfilePoints(*parse_profile(super().clean(value) or ""))
        except ProfileError as error:
            raise forms.ValidationError(str(error)) from None


def build_plan_fields() -> dict[str, forms.Field]:
    """Those of PlanRequest by their names; those of a search begin with `search_`, of its limit with `slo_`."""
    nested = _build_fields(PlanSearch, "search_") | _build_fields(PlanSlo, "slo_")
    for field in nested.values():
        field.required = False
    return _build_fields(PlanRequest, "") | nested


def list_folded_names() -> list[str]:
    """The fields of the builder's folded part."""
    fields = PlanRequest.model_fields.items()
    return [name for name, field in fields if any(getattr(item, "is_folded", False) for item in field.metadata)]


def collect_nested(model: type[Table], prefix: str, cleaned: dict[str, Any]) -> dict[str, Any]:
    """What was typed for the fields of a nested model; what was left empty has the model's default."""
    values = {name: cleaned.get(f"{prefix}{name}") for name in model.model_fields}
    return {name: value for name, value in values.items() if value not in (None, "")}


def _build_fields(model: type[Table], prefix: str) -> dict[str, forms.Field]:
    return {f"{prefix}{name}": _build_field(field) for name, field in model.model_fields.items() if name not in NESTED}


def _build_field(field: FieldInfo) -> forms.Field:
    kind, limits = field.annotation, field.metadata
    is_optional = NoneType in get_args(kind)
    if is_optional:
        kind, *limits = get_args(get_args(kind)[0])
    by_type: dict[type, Any] = {type(limit): limit for limit in limits}
    shown = by_type.get(Shown, Shown())
    texts: dict[str, Any] = {
        "label": shown.label or None,
        "help_text": field.description or "",
        "initial": None if field.is_required() else field.get_default(call_default_factory=True),
    }
    if OneOf in by_type:
        labels = by_type[OneOf].labels
        return forms.ChoiceField(choices=list(labels.items()), required="" not in labels, **texts)
    if Between in by_type:
        bounds = {"min_value": by_type[Between].low, "max_value": by_type[Between].high}
        if kind is float:
            return ScaledField(scale=shown.scale, **bounds, **texts)
        return forms.IntegerField(required=not is_optional, **bounds, **texts)

    texts["required"] = False
    if kind == Patience:
        return PatienceField(**texts)
    if kind is bool:
        return forms.BooleanField(**texts)
    if kind is str:
        return _build_text_field(limits, texts)
    if Profile in by_type:
        return ProfileField(**texts)

    item = get_args(get_args(kind)[0])[0]
    if item is int:
        return NumbersField(**texts)

    return TagsField(max_length=LONG_TEXT, **texts)


def _build_text_field(limits: list[Any], texts: dict[str, Any]) -> forms.CharField:
    longest = next(limit.max_length for limit in limits if getattr(limit, "max_length", None))
    area = forms.Textarea(attrs={"rows": 3})
    widget = area if longest > LONG_TEXT else forms.TextInput(attrs={"autocomplete": "off"})
    return forms.CharField(max_length=longest, widget=widget, **texts)
