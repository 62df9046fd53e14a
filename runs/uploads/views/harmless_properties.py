"""The names of properties that look like those of secrets and are none: a team's admins list them."""

import re
from typing import Final

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from benchsite.accounts import audit
from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.core.responses import form_status, get_posted
from runs.catalog.forms.fields import DescribedForm
from runs.uploads.messages import NO_PROPERTY_NAME, TOO_MANY_NAMES

MAX_NAMES: Final = 100
_NAME: Final = re.compile(r"[A-Za-z][\w.-]{0,119}", re.ASCII)


class HarmlessPropertiesForm(DescribedForm):
    names = forms.CharField(
        required=False,
        max_length=MAX_NAMES * 121,
        widget=forms.Textarea(attrs={"rows": 8, "class": "mono"}),
        help_text="One name per line, without its value.",
    )

    def clean_names(self) -> list[str]:
        names = sorted(set(self.cleaned_data["names"].split()))
        wrong = [name for name in names if not _NAME.fullmatch(name)]
        if wrong:
            raise ValidationError(NO_PROPERTY_NAME.format(name=wrong[0][:40]))
        if len(names) > MAX_NAMES:
            raise ValidationError(TOO_MANY_NAMES.format(limit=MAX_NAMES, count=len(names)))
        return names


@team_required("GET", "POST", role=Role.ADMIN)
def harmless_properties(request: HttpRequest) -> HttpResponse:
    team = get_team(request)
    form = HarmlessPropertiesForm(get_posted(request), initial={"names": "\n".join(team.harmless_properties)})
    if form.is_valid():
        team.harmless_properties = form.cleaned_data["names"]
        listed = ", ".join(team.harmless_properties) or "none"
        with transaction.atomic():
            team.save(update_fields=["harmless_properties"])
            audit.note("harmless_properties_changed", team=team, actor=get_user(request), subject=listed)
        messages.success(request, "Saved. Values that are uploaded from now on are shown under these names.")
        return redirect("harmless-properties")

    return render(request, "runs/harmless_properties.html", {"form": form}, status=form_status(form))
