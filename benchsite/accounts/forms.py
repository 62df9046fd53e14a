"""Forms of people and teams."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import BaseUserCreationForm

from benchsite.accounts.models import Role, Scope, Team, User
from benchsite.accounts.networks import NetworkRefused, parse_network
from benchsite.accounts.tokens import DEFAULT_LIFE, MAX_LIFE, allowed_scopes

if TYPE_CHECKING:
    UserForm = BaseUserCreationForm[User]
else:
    UserForm = BaseUserCreationForm


class TeamForm(forms.Form):
    name = forms.CharField(max_length=80)


class NetworkForm(forms.Form):
    team = forms.ModelChoiceField(Team.objects.all(), empty_label=None)
    network = forms.CharField(
        max_length=50,
        help_text="Such as 10.0.0.0/8 or 192.168.7.4. 127.0.0.0/8 is the machine of the site.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_network(self) -> str:
        try:
            return parse_network(self.cleaned_data["network"])
        except NetworkRefused as refused:
            raise forms.ValidationError(str(refused)) from None


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
