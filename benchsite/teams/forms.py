"""Forms of people and teams."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import BaseUserCreationForm
from django.core.validators import validate_email
from django.db import transaction

from benchsite.teams.models import Membership, NoticeKind, Preference, Role, Scope, User
from benchsite.teams.tokens import DEFAULT_LIFE, MAX_LIFE, allowed_scopes
from benchsite.teams.webhooks import WebhookRefused, check_url

SENTENCES = [
    (NoticeKind.MATRIX_FINISHED.value, "A matrix has finished"),
    (NoticeKind.REGRESSION.value, "An uploaded result is worse than its baseline"),
    (NoticeKind.SCHEDULE_FAILED.value, "A schedule could not submit its matrix"),
    (NoticeKind.CHANGE_POINT.value, "A history has changed its level, for better or worse"),
]


class PreferencesForm(forms.Form):
    """One's own e-mail."""

    address = forms.CharField(
        label="E-mail address", max_length=254, required=False, validators=[validate_email],
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )  # fmt: skip
    kinds = forms.MultipleChoiceField(
        label="Send me e-mail when", required=False, choices=SENTENCES, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, member: Membership, **kwargs: Any) -> None:
        self.member = member
        kinds = list(member.preferences.order_by("kind").values_list("kind", flat=True))
        kwargs["initial"] = {"address": member.user.email, "kinds": kinds}
        super().__init__(*args, **kwargs)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("kinds") and "address" not in self.errors and not cleaned.get("address"):
            self.add_error("address", "Write the address to which the e-mail goes.")
        return cleaned

    @transaction.atomic
    def save(self) -> None:
        """These kinds and no others, to this address."""
        kinds = self.cleaned_data["kinds"]
        User.objects.filter(pk=self.member.user_id).update(email=self.cleaned_data["address"])
        self.member.preferences.exclude(kind__in=kinds).delete()
        rows = [Preference(membership=self.member, kind=kind) for kind in kinds]
        Preference.objects.bulk_create(rows, ignore_conflicts=True)


class WebhookForm(forms.Form):
    """Where a program is told."""

    name = forms.CharField(max_length=80, help_text="Who listens there, such as “team chat”.")
    url = forms.CharField(
        label="URL", max_length=500, help_text="It gets a signed POST.",
        widget=forms.URLInput(attrs={"placeholder": "https://hooks.example.org/benchsite"}),
    )  # fmt: skip
    kinds = forms.MultipleChoiceField(label="Tell it when", choices=SENTENCES, widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # It stands on one page with one's own choice of kinds.
        super().__init__(*args, **{"auto_id": "id_hook_%s", **kwargs})

    def clean_url(self) -> str:
        """Refused here, so that the sentence stands at the field."""
        url: str = self.cleaned_data["url"].strip()
        try:
            check_url(url)
        except WebhookRefused as refused:
            raise forms.ValidationError(str(refused)) from None
        return url


if TYPE_CHECKING:
    UserForm = BaseUserCreationForm[User]
else:
    UserForm = BaseUserCreationForm


class TeamForm(forms.Form):
    name = forms.CharField(max_length=80)


class InvitationForm(forms.Form):
    note = forms.CharField(max_length=120, label="For whom", required=False, help_text="Only for your list.")
    role = forms.ChoiceField(choices=Role.choices, initial=Role.VIEWER)


class SignUpForm(UserForm):
    """An account for somebody who was invited."""

    class Meta:
        model = User
        fields = ("username", "email")


class TokenForm(forms.Form):
    name = forms.CharField(max_length=80, help_text="Where it will be used, such as “nightly on GitHub”.")
    scopes = forms.MultipleChoiceField(label="It may", widget=forms.CheckboxSelectMultiple)
    days = forms.IntegerField(
        label="Days until it ends", min_value=1, max_value=MAX_LIFE.days, initial=DEFAULT_LIFE.days
    )

    def __init__(self, *args: Any, role: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scopes = allowed_scopes(role)
        self.fields["scopes"].choices = [(scope.value, scope.label) for scope in scopes]  # type: ignore[attr-defined]
        self.fields["scopes"].initial = [s.value for s in scopes if s in (Scope.RUNS_READ, Scope.RUNS_WRITE)]

    @property
    def life(self) -> timedelta:
        return timedelta(days=self.cleaned_data["days"])
