"""The pages of the second factor: django-allauth's views with the site's forms and statuses."""

from collections.abc import Callable
from typing import Any

from allauth.account.views import ReauthenticateView
from allauth.mfa.base import views
from allauth.mfa.recovery_codes.views import generate_recovery_codes, view_recovery_codes
from allauth.mfa.totp.views import ActivateTOTPView, deactivate_totp
from django.forms import BaseForm
from django.http import HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic.base import TemplateResponseMixin

from benchsite.accounts.second_factor import CodeAgain, FirstCode, PasswordAgain, SignInCode, must_set_up
from benchsite.accounts.views.sign_in import set_status


class Refusals(TemplateResponseMixin):
    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        return set_status(super().render_to_response(context, **kwargs), context["form"])


class SignInCodeView(Refusals, views.AuthenticateView):  # type: ignore[misc]
    def _build_forms(self) -> BaseForm:
        """allauth takes a form without a code for one of a security key."""
        self.webauthn_form = None
        data = None
        if self.request.method == "POST":
            data = self.request.POST
        self.auth_form = SignInCode(user=self.stage.login.user, data=data)  # type: ignore[call-arg]
        return self.auth_form


class CodeAgainView(Refusals, views.ReauthenticateView):  # type: ignore[misc]
    form_class = CodeAgain


class PasswordAgainView(Refusals, ReauthenticateView):  # type: ignore[misc]
    form_class = PasswordAgain


class SwitchOnView(Refusals, ActivateTOTPView):  # type: ignore[misc]
    form_class = FirstCode

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "is_required": must_set_up(self.request)}


def _guard(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    return never_cache(sensitive_post_parameters()(view))


sign_in_code = _guard(SignInCodeView.as_view())
code_again = _guard(CodeAgainView.as_view())
password_again = _guard(PasswordAgainView.as_view())
switch_on = _guard(SwitchOnView.as_view())
switch_off = _guard(deactivate_totp)
recovery_codes = _guard(view_recovery_codes)
renew_recovery_codes = _guard(generate_recovery_codes)
