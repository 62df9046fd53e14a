"""Signing in and out, one's own account, and the team's pages."""

from django.urls import include, path

from benchsite.accounts.views import sign_in, team, tokens

urlpatterns = [
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/once/<str:token>", sign_in.sign_in_once, name="sign-in-once"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("invited/<str:token>", team.invited, name="invited"),
    path("sso/", include("benchsite.accounts.sso_urls")),
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
    path("team/audit/", team.audit_log, name="audit"),
]
