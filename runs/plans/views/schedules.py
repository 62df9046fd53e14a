"""Schedules: matrices that are repeated at times."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_user, team_required
from benchsite.core.database_clock import database_now
from benchsite.core.responses import get_posted
from runs.models import Matrix, Occasion, Schedule
from runs.plans import PlanError, preview, stored_plan
from runs.plans.messages import CHOOSE_DAY
from runs.plans.schedules import due_schedules, schedule_changes
from runs.plans.schedules.schedule_changes import ScheduleRefused
from runs.plans.schedules.times import DAYS, EVERY_HOURS, Rule, in_words, next_times
from runs.results.views.row_pages import list_page


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
            self.add_error("days", CHOOSE_DAY)
        return cleaned

    @property
    def rule(self) -> Rule:
        """When, once the form is valid."""
        data = self.cleaned_data
        return Rule(data["every"], data["at"].replace(second=0), data["hours"], tuple(data["days"]))


SHOWN = 5
OCCASIONS_SHOWN = 50


def _schedules() -> QuerySet[Schedule]:
    return Schedule.objects.select_related("team", "matrix", "created_by")


@team_required("GET")
def schedules(request: HttpRequest) -> HttpResponse:
    last = Occasion.objects.filter(schedule=OuterRef("pk")).order_by("-due_at")
    rows = _schedules().annotate(last=Subquery(last.values("outcome")[:1]))
    return list_page(
        request, "runs/schedules/list.html", rows, lambda row: (row, in_words(schedule_changes.get_rule(row)))
    )


@team_required("GET")
def schedule(request: HttpRequest, pk: UUID) -> HttpResponse:
    schedule = get_object_or_404(_schedules(), pk=pk)
    context = {
        "schedule": schedule,
        "when": in_words(schedule_changes.get_rule(schedule)),
        "upcoming": schedule_changes.upcoming(schedule, SHOWN),
        "occasions": schedule.occasions.select_related("matrix")[:OCCASIONS_SHOWN],
    }
    return render(request, "runs/schedules/page.html", context)


@team_required("GET", "POST", role=Role.RUNNER)
def schedule_add(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A schedule of the matrix `pk`."""
    matrix = get_object_or_404(Matrix.objects.select_related("team"), pk=pk)
    form = ScheduleForm(get_posted(request), name=matrix.name)
    if form.is_valid() and "preview" not in request.POST:
        try:
            schedule = schedule_changes.make(matrix, get_user(request), name=form.cleaned_data["name"], rule=form.rule)
        except ScheduleRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, f"“{matrix.name}” is repeated {in_words(form.rule)}.")
            return redirect("schedule", pk=schedule.pk)
    return _form(request, form, matrix, None)


@team_required("GET", "POST", role=Role.RUNNER)
def schedule_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    schedule = get_object_or_404(_schedules(), pk=pk)
    form = ScheduleForm(get_posted(request), instance=schedule)
    if form.is_valid() and "preview" not in request.POST:
        schedule_changes.change(schedule, get_user(request), name=form.cleaned_data["name"], rule=form.rule)
        messages.success(request, f"“{schedule.matrix.name}” is repeated {in_words(form.rule)}.")
        return redirect("schedule", pk=pk)
    return _form(request, form, schedule.matrix, schedule)


@team_required("POST", role=Role.RUNNER)
def schedule_change(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Submitted now, off, on, or gone."""
    schedule = get_object_or_404(_schedules(), pk=pk)
    me = get_user(request)
    if "run" in request.POST:
        try:
            occasion = due_schedules.run_now(schedule, get_user(request))
        except (ScheduleRefused, PlanError) as refused:
            messages.error(request, f"Nothing is submitted. {refused}")
            return redirect("schedule", pk=schedule.pk)
        messages.success(request, f"“{schedule.name}” is submitted now; its times stay as they are.")
        return redirect("matrix", pk=occasion.matrix_id)
    if "delete" in request.POST:
        schedule_changes.delete(schedule, me)
        messages.success(request, f"The schedule “{schedule.name}” is deleted. What it submitted stays.")
        return redirect("schedules")

    if "pause" in request.POST:
        schedule_changes.pause(schedule, me)
        messages.success(request, f"“{schedule.name}” submits nothing until somebody switches it on.")
    elif "resume" in request.POST:
        schedule_changes.resume(schedule, me)
        messages.success(request, f"“{schedule.name}” goes on with its next time.")

    return redirect("schedule", pk=pk)


def _form(request: HttpRequest, form: ScheduleForm, matrix: Matrix, schedule: Schedule | None) -> HttpResponse:
    """With its next times once it says when: asked for by a button, or as the form changes."""
    shown = form.is_bound and form.is_valid()
    when = ""
    if shown:
        when = in_words(form.rule)
    context = {
        "form": form,
        "matrix": matrix,
        "schedule": schedule,
        "when": when,
        "upcoming": next_times(form.rule, database_now(), SHOWN) if shown else (),
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "runs/schedules/preview.html", context)

    context["rejections"] = preview(stored_plan(matrix)).rejections
    return render(request, "runs/schedules/form.html", context, status=422 if form.errors else 200)
