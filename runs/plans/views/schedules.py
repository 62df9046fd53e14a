"""Schedules: matrices that are repeated at times."""

from datetime import time
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
from runs.plans import PlanError, preview, schedules as plan_schedules, stored_plan
from runs.plans.messages import CHOOSE_DAY
from runs.plans.schedules import DAYS, EVERY_HOURS, ScheduleRefused, in_words, next_times
from runs.results.views.row_pages import list_page


class ScheduleForm(forms.ModelForm):  # type: ignore[type-arg]  # not at run time
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

    class Meta:
        model = Schedule
        fields = ("name", "every", "at", "hours", "days")

    def clean_at(self) -> time:
        at: time = self.cleaned_data["at"]
        return at.replace(second=0)

    def clean_days(self) -> list[int]:
        return sorted(self.cleaned_data["days"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("every") == Schedule.Every.WEEK and not cleaned.get("days"):
            self.add_error("days", CHOOSE_DAY)
        return cleaned


SHOWN = 5
OCCASIONS_SHOWN = 50


def _schedules() -> QuerySet[Schedule]:
    return Schedule.objects.select_related("team", "matrix", "created_by")


@team_required("GET")
def schedules(request: HttpRequest) -> HttpResponse:
    last = Occasion.objects.filter(schedule=OuterRef("pk")).order_by("-due_at")
    rows = _schedules().annotate(last=Subquery(last.values("outcome")[:1]))
    return list_page(request, "runs/schedules/list.html", rows, lambda row: (row, in_words(row)))


@team_required("GET")
def schedule(request: HttpRequest, pk: UUID) -> HttpResponse:
    schedule = get_object_or_404(_schedules(), pk=pk)
    upcoming = []
    if schedule.is_active:
        upcoming = next_times(schedule, database_now(), SHOWN)
    context = {
        "schedule": schedule,
        "when": in_words(schedule),
        "upcoming": upcoming,
        "occasions": schedule.occasions.select_related("matrix")[:OCCASIONS_SHOWN],
    }
    return render(request, "runs/schedules/page.html", context)


@team_required("GET", "POST", role=Role.RUNNER)
def schedule_add(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A schedule of the matrix `pk`."""
    matrix = get_object_or_404(Matrix.objects.select_related("team"), pk=pk)
    schedule = Schedule(team=matrix.team, matrix=matrix, name=matrix.name[:80], at=time(3))
    form = ScheduleForm(get_posted(request), instance=schedule)
    if form.is_valid() and "preview" not in request.POST:
        try:
            plan_schedules.make(schedule, get_user(request))
        except ScheduleRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(request, f"“{matrix.name}” is repeated {in_words(schedule)}.")
            return redirect("schedule", pk=schedule.pk)
    return _render_form(request, form, is_new=True)


@team_required("GET", "POST", role=Role.RUNNER)
def schedule_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    schedule = get_object_or_404(_schedules(), pk=pk)
    form = ScheduleForm(get_posted(request), instance=schedule)
    if form.is_valid() and "preview" not in request.POST:
        plan_schedules.change(schedule, get_user(request))
        messages.success(request, f"“{schedule.matrix.name}” is repeated {in_words(schedule)}.")
        return redirect("schedule", pk=pk)
    return _render_form(request, form)


@team_required("POST", role=Role.RUNNER)
def schedule_change(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Submitted now, off, on, or gone."""
    schedule = get_object_or_404(_schedules(), pk=pk)
    me = get_user(request)
    if "run" in request.POST:
        try:
            occasion = plan_schedules.run_now(schedule, me)
        except (ScheduleRefused, PlanError) as refused:
            messages.error(request, f"Nothing is submitted. {refused}")
            return redirect("schedule", pk=schedule.pk)
        messages.success(request, f"“{schedule.name}” is submitted now; its times stay as they are.")
        return redirect("matrix", pk=occasion.matrix_id)
    if "delete" in request.POST:
        plan_schedules.delete(schedule, me)
        messages.success(request, f"The schedule “{schedule.name}” is deleted. What it submitted stays.")
        return redirect("schedules")

    if "pause" in request.POST:
        plan_schedules.pause(schedule, me)
        messages.success(request, f"“{schedule.name}” submits nothing until somebody switches it on.")
    elif "resume" in request.POST:
        plan_schedules.resume(schedule, me)
        messages.success(request, f"“{schedule.name}” goes on with its next time.")

    return redirect("schedule", pk=pk)


def _render_form(request: HttpRequest, form: ScheduleForm, *, is_new: bool = False) -> HttpResponse:
    """With its next times once it says when: asked for by a button, or as the form changes."""
    schedule = form.instance
    context: dict[str, object] = {"form": form, "schedule": schedule, "is_new": is_new}
    if form.is_bound and form.is_valid():
        context |= {"when": in_words(schedule), "upcoming": next_times(schedule, database_now(), SHOWN)}
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "runs/schedules/preview.html", context)

    context["rejections"] = preview(stored_plan(schedule.matrix)).rejections
    return render(request, "runs/schedules/form.html", context, status=422 if form.errors else 200)
