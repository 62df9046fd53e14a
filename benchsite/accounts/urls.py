"""Signing in and out, one's own account, and the team's pages."""

from allauth.account.views import account_inactive
from allauth.socialaccount.views import login_cancelled, login_error
from django.urls import include, path, reverse_lazy
from django.views.generic.base import RedirectView

from benchsite.accounts import oidc
from benchsite.accounts.views import networks, second_factor, sign_in, team, tokens

to_sign_in = RedirectView.as_view(url=reverse_lazy("sign-in"))
to_account = RedirectView.as_view(url=reverse_lazy("account"))
# Signing in through an identity provider: what django-allauth needs of its own, and not one page more.
sso_urls = [
    path("<slug:provider_id>/login/", oidc.login, name="openid_connect_login"),
    path("<slug:provider_id>/login/callback/", oidc.callback, name="openid_connect_callback"),
    path("cancelled/", login_cancelled, name="socialaccount_login_cancelled"),
    path("error/", login_error, name="socialaccount_login_error"),
    path("inactive/", account_inactive, name="account_inactive"),
    # Names that allauth leads to, and what stands there instead.
    path("sign-in/", to_sign_in, name="account_login"),
    path("sign-up/", to_sign_in, name="account_signup"),
    path("more/", to_sign_in, name="socialaccount_signup"),
    path("connections/", to_account, name="socialaccount_connections"),
]
urlpatterns = [
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/once/<str:token>", sign_in.sign_in_once, name="sign-in-once"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("invited/<str:token>", team.invited, name="invited"),
    path("sso/", include(sso_urls)),
    # The names are django-allauth's.
    path("sign-in/code/", second_factor.sign_in_code, name="mfa_authenticate"),
    path("account/code/", second_factor.code_again, name="mfa_reauthenticate"),
    path("account/password/", second_factor.password_again, name="account_reauthenticate"),
    path("account/second-factor/", to_account, name="mfa_index"),
    path("account/second-factor/on/", second_factor.switch_on, name="mfa_activate_totp"),
    path("account/second-factor/off/", second_factor.switch_off, name="mfa_deactivate_totp"),
    path("account/recovery-codes/", second_factor.recovery_codes, name="mfa_view_recovery_codes"),
    path("account/recovery-codes/new/", second_factor.renew_recovery_codes, name="mfa_generate_recovery_codes"),
    path("account/", sign_in.account, name="account"),
    path("account/sessions/<uuid:pk>/end/", sign_in.session_end, name="session-end"),
    path("team/", sign_in.choose_team, name="choose-team"),
    path("team/new/", team.team_add, name="team-add"),
    path("team/members/", team.members, name="members"),
    path("team/members/<int:pk>/", team.member_change, name="member-change"),
    path("team/invitations/", team.invite, name="invite"),
    path("team/invitations/<uuid:pk>/withdraw/", team.withdraw, name="invitation-withdraw"),
    path("team/tokens/", tokens.token_list, name="tokens"),
    path("team/tokens/<uuid:pk>/", tokens.token_change, name="token-change"),
    path("networks/", networks.external_networks, name="networks"),
    path("networks/withdraw/", networks.network_withdraw, name="network-withdraw"),
    path("team/audit/", team.audit_log, name="audit"),
]
