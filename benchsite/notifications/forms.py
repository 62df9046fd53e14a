"""Forms of one's own e-mail and of a team's webhooks."""

from typing import Any

from django import forms
from django.core.validators import validate_email
from django.db import transaction

from benchsite.accounts.models import Membership, NoticeKind, Preference, User, Webhook
from benchsite.notifications.messages import WRITE_EMAIL
from benchsite.notifications.webhooks import WebhookRefused, check_url

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
            self.add_error("address", WRITE_EMAIL)
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
        widget=forms.URLInput(attrs={"placeholder": "e.g. https://hooks.example.org/benchsite"}),
    )  # fmt: skip
    shape = forms.ChoiceField(label="Send", choices=Webhook.Shape.choices, required=False)
    kinds = forms.MultipleChoiceField(label="Tell it when", choices=SENTENCES, widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # It stands on one page with one's own choice of kinds.
        super().__init__(*args, **{"auto_id": "id_hook_%s", **kwargs})

    def clean_shape(self) -> str:
        return self.cleaned_data["shape"] or Webhook.Shape.PLAIN.value

    def clean_url(self) -> str:
        """Refused here, so that the sentence stands at the field."""
        url: str = self.cleaned_data["url"].strip()
        try:
            check_url(url)
        except WebhookRefused as refused:
            raise forms.ValidationError(str(refused)) from None
        return url
