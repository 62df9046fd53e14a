"""Thresholds of the validity checks: everybody in the team sees them, its admins replace them."""

from collections import defaultdict
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.core.responses import form_status, get_posted
from runs.catalog.forms.fields import DescribedForm
from runs.checks import THRESHOLDS, profile
from runs.checks.default_thresholds import Threshold, shown
from runs.checks.team_thresholds import (
    MAX_REASON_LENGTH,
    PURPOSES,
    ThresholdRefused,
    get_thresholds,
    replace_threshold,
    restore_default,
)
from runs.models import Purpose

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


@team_required("GET")
def thresholds(request: HttpRequest) -> HttpResponse:
    team = get_team(request)
    purpose = request.GET.get("purpose")
    if purpose not in PURPOSES:
        purpose = Purpose.MEASURED
    team_profile, default_profile = get_thresholds(team, purpose), profile(purpose)
    stored = team.threshold_overrides.filter(purpose__in=["", purpose]).select_related("changed_by")
    # Of two for one threshold the one for this purpose counts: it comes last.
    overrides = {override.threshold: override for override in stored.order_by("purpose")}
    rows = [
        {
            "about": about,
            "value": shown(name, getattr(team_profile, name)),
            "default": shown(name, getattr(default_profile, name)),
            "override": overrides.get(name),
        }
        for name, about in THRESHOLDS.items()
    ]
    context = {"rows": rows, "purpose": purpose, "purposes": Purpose.choices}
    return render(request, "runs/thresholds/list.html", context)


@team_required("GET", "POST", role=Role.ADMIN)
def threshold_edit(request: HttpRequest, name: str) -> HttpResponse:
    """One threshold; "restore" in the form takes the team's value for that purpose away."""
    if name not in THRESHOLDS:
        raise Http404(f"There is no threshold {name}.")

    about = THRESHOLDS[name]
    team = get_team(request)
    stored = list(team.threshold_overrides.filter(threshold=name).select_related("changed_by"))
    if request.method == "POST" and "restore" in request.POST:
        return _restore(request, name, request.POST["restore"])

    form = ThresholdForm(get_posted(request), threshold=about)
    if form.is_valid():
        data = form.cleaned_data
        try:
            replace_threshold(
                team, get_user(request), name, purpose=data["purpose"], value=data["value"], reason=data["reason"]
            )
        except ThresholdRefused as refused:
            form.add_error("value", str(refused))
        else:
            messages.success(request, "Saved: runs that are judged from now on use it.")
            return redirect(_address(data["purpose"]))

    context = {
        "about": about,
        "form": form,
        "overrides": [(row, shown(name, row.value)) for row in stored],
        "defaults": _defaults(name),
        "limits": _limits(about.check_id),
    }
    return render(request, "runs/thresholds/form.html", context, status=form_status(form))


def _defaults(name: str) -> dict[str, list[str]]:
    """Each default value, with the purposes under which it is the one."""
    purposes: defaultdict[str, list[str]] = defaultdict(list)
    for slug, label in Purpose.choices:
        default = shown(name, getattr(profile(slug), name))
        purposes[default].append(str(label))
    return dict(purposes)


def _limits(check_id: str) -> dict[str, list[str]]:
    """What the check says at most, with the purposes under which it does; without those that do not limit it."""
    purposes: defaultdict[str, list[str]] = defaultdict(list)
    for slug, label in Purpose.choices:
        if check_id in profile(slug).at_most:
            purposes[profile(slug).at_most[check_id]].append(str(label))
    return dict(purposes)


def _restore(request: HttpRequest, name: str, purpose: str) -> HttpResponse:
    if purpose not in PURPOSES:
        purpose = ""
    try:
        restore_default(get_team(request), name, purpose=purpose)
    except ThresholdRefused as refused:
        messages.error(request, str(refused))
        return redirect("threshold-edit", name=name)
    messages.success(request, "The default counts again for runs that are judged from now on.")
    return redirect(_address(purpose))


def _address(purpose: str) -> str:
    return reverse("thresholds") + (f"?purpose={purpose}" if purpose else "")
