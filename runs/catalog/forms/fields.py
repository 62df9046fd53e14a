"""Fields that several forms share. Whatever is wrong, the text stays as it was typed."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet

from benchsite.accounts.models import Team
from runs.catalog.messages import (
    NAME_TAKEN,
    NO_PROPERTY_LINE,
    PROPERTY_TWICE,
    TAG_TOO_LONG,
    TOO_MANY_LINES,
    TOO_MANY_PROPERTIES,
)
from runs.models import Run, Status
from runs.ycsb.properties import parse_properties
from runs.ycsb.property_names import NAMES
from runs.ycsb.property_schema import PropertyError

IN_USE = "in-use"  # code of the error that a run uses what would change
MAX_LINES = 300
MAX_RUNGS = 60
MAX_RUNG = 2_147_483_647


class PropertiesField(forms.CharField):
    """Lines of `name=value`; blank lines and lines that begin with # are left out. The value is a dict of texts.

    Programs send that dict itself.
    """

    widget = forms.Textarea

    def __init__(self, *, rows: int = 8, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        attributes = {"rows": rows, "spellcheck": "false", "autocapitalize": "off", "class": "mono", "wrap": "off"}
        super().__init__(widget=forms.Textarea(attrs=attributes), max_length=50_000, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return as_lines(value) if isinstance(value, Mapping) else value

    def clean(self, value: Any) -> dict[str, str]:
        if not isinstance(value, Mapping):
            return parse_lines(super().clean(value) or "")
        super().clean(as_lines(value))
        if len(value) > MAX_LINES:
            raise ValidationError(TOO_MANY_PROPERTIES.format(count=len(value), limit=MAX_LINES))
        return {name.strip(): text.strip() for name, text in value.items()}


def as_lines(properties: Mapping[str, object]) -> str:
    return "\n".join(f"{name}={value}" for name, value in properties.items())


def parse_lines(text: str) -> dict[str, str]:
    """The properties in lines of text. Raises ValidationError that names every line that is none."""
    values: dict[str, str] = {}
    seen: dict[str, int] = {}
    problems: list[str] = []
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        raise ValidationError(TOO_MANY_LINES.format(count=len(lines), limit=MAX_LINES))

    for number, name, value in parse_properties(text):
        bare, value = lines[number - 1].strip(), value.strip()
        # Java also takes a blank for the sign between both; then the name must be one that clients read.
        if not name or not (re.search(r"[=:]", bare) or name in NAMES):
            problems.append(NO_PROPERTY_LINE.format(number=number, line=bare[:60]))
        elif name in seen:
            problems.append(PROPERTY_TWICE.format(name=name[:60], first=seen[name], second=number))
        else:
            values[name], seen[name] = value, number

    if problems:
        raise ValidationError([ValidationError(problem) for problem in problems])

    return values


class NumbersField(forms.CharField):
    """Whole numbers separated by commas or blanks, kept in the order they were written in."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value

    def clean(self, value: Any) -> list[int]:
        words = re.split(r"[\s,;]+", (super().clean(value) or "").strip())
        numbers: list[int] = []
        for word in filter(None, words):
            if not re.fullmatch(r"[0-9]{1,10}", word, re.ASCII) or not 1 <= int(word) <= MAX_RUNG:
                raise ValidationError(
                    f"“{word[:40]}” is not a whole number of 1 or more; write them as in 2, 4, 8, 16."
                )
            numbers.append(int(word))
        if len(numbers) > MAX_RUNGS:
            raise ValidationError(f"There are {len(numbers)} rungs; at most {MAX_RUNGS} are allowed.")
        return numbers


class TagsField(forms.CharField):
    """Comma-separated tags; each at most 40 characters, doubles dropped."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list | tuple) else value

    def clean(self, value: Any) -> list[str]:
        tags = [tag.strip() for tag in (super().clean(value) or "").split(",")]
        for tag in tags:
            if len(tag) > 40:
                raise ValidationError(TAG_TOO_LONG.format(tag=tag[:40], length=len(tag)))
        return list(dict.fromkeys(filter(None, tags)))


class DescribedForm(forms.Form):
    """A form whose messages come from the server, field by field."""

    use_required_attribute = False  # The server's messages say more than the browser's bubbles.

    def offer(self, field: str, choices: list[Any]) -> None:
        """Set what can be chosen in a field."""
        self.fields[field].choices = choices  # type: ignore[attr-defined]

    def refuse(self, field: str, error: PropertyError) -> None:
        """One message per property that was refused."""
        for message in error.problems.values():
            self.add_error(field, message)


class NamedForm(DescribedForm):
    """A form of a row whose name is unique within its team; a field that the model has is a column."""

    model: type[Any]
    used_as: str  # which lookup leads from a run to the row

    def __init__(self, *args: Any, team: Team, instance: Any = None, **kwargs: Any) -> None:
        self.team = team
        self.instance = instance
        if instance is not None:
            kwargs["initial"] = {name: getattr(instance, name) for name in self._columns()}
        super().__init__(*args, **kwargs)

    def clean_name(self) -> str:
        name: str = " ".join(self.cleaned_data["name"].split())
        others = self.model.objects.filter(team=self.team).exclude(pk=self.instance and self.instance.pk)
        if others.filter(name=name).exists():
            kind = self.model._meta.verbose_name
            raise ValidationError(NAME_TAKEN.format(kind=kind))
        return name

    def _post_clean(self) -> None:
        """Refuses other changes than of name and notes while a run uses the row."""
        if self.instance is None or self.errors:
            return
        columns = [name for name in self._columns() if name not in ("name", "notes")]
        if any(self._is_changed(name) for name in columns):
            refuse_in_use(self, self.instance, Run.objects.filter(**{self.used_as: self.instance}))

    def _is_changed(self, name: str) -> bool:
        return bool(self.cleaned_data[name] != getattr(self.instance, name))

    def save(self) -> Any:
        row = self.instance or self.model(team=self.team)
        for name in self._columns():
            setattr(row, name, self.cleaned_data[name])
        row.save()
        return row

    def _columns(self) -> list[str]:
        return [name for name in self.base_fields if hasattr(self.model, name)]


def refuse_in_use(form: forms.Form, row: Model, runs: QuerySet[Run]) -> None:
    """Adds an error that names the run, where one of these is active."""
    run = runs.filter(status__in=(Status.DISPATCHED, Status.RUNNING)).first()
    if run is not None:
        message = f"The run “{run.name}” uses this {row._meta.verbose_name} now."
        form.add_error(None, ValidationError(f"{message} Change it when it has ended, or cancel it.", code=IN_USE))


def name_field(longest: int = 80, **kwargs: Any) -> forms.CharField:
    return forms.CharField(max_length=longest, widget=forms.TextInput(attrs={"autocomplete": "off"}), **kwargs)


def notes_field() -> forms.CharField:
    return forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}), label="Notes")
