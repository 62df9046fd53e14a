"""What a member is told by e-mail, and the team's webhooks."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from benchsite.accounts.models import Delivery, Role, User, Webhook
from benchsite.accounts.permissions import get_membership, get_team, get_user, has_role, keep_team, team_required
from benchsite.core.responses import form_status, get_posted
from benchsite.notifications import deliveries, webhooks
from benchsite.notifications.email_verification import NotSent, confirm, find_account, send
from benchsite.notifications.forms import PreferencesForm, WebhookForm
from benchsite.notifications.notices import KINDS, mail_works
from benchsite.notifications.webhooks import WebhookRefused

MAX_DELIVERIES = 50  # on the page of a webhook


@team_required("GET", "POST")
@never_cache
def notifications(request: HttpRequest) -> HttpResponse:
    """One's own e-mail; for admins the webhooks too. `?team=` comes from an e-mail, whose team may be another one."""
    if keep_team(request, request.GET.get("team", "")):
        return redirect("notifications")

    member = get_membership(request)
    form = PreferencesForm(get_posted(request), member=member)
    if form.is_valid():
        kinds = form.cleaned_data["kinds"]
        form.save()
        user = User.objects.get(pk=member.user_id)
        if kinds and mail_works() and not user.has_confirmed_email:
            _send_link(request, user, "Saved. ")
        else:
            messages.success(request, f"Saved: you get {'e-mail of what you chose' if kinds else 'no e-mail'}.")
        return redirect("notifications")

    return _page(request, form, WebhookForm(), status=form_status(form))


def _send_link(request: HttpRequest, user: User, saved: str = "") -> None:
    try:
        send(user)
    except NotSent as failure:
        messages.error(request, f"{saved}{failure}")
    else:
        messages.success(request, f"{saved}Open the link that was sent to {user.email}: no notice goes there before.")


@team_required("POST")
@never_cache
def confirmation_send(request: HttpRequest) -> HttpResponse:
    """Once more, for who cannot find it."""
    user = get_user(request)
    if user.email and not user.has_confirmed_email:
        _send_link(request, user)
    return redirect("notifications")


@require_http_methods(["GET", "POST"])
@never_cache
def confirm_address(request: HttpRequest, token: str) -> HttpResponse:
    """A link from an e-mail, which may be opened where nobody is signed in. Opening it only shows a button."""
    posted = request.method == "POST"
    account = confirm(token) if posted else find_account(token)
    context = {"account": account, "confirmed": posted}
    return render(request, "teams/confirm_address.html", context, status=200 if account else 410)


@team_required("POST", role=Role.ADMIN)
@never_cache
def webhook_add(request: HttpRequest) -> HttpResponse:
    """Answers with the webhook's page and its secret, which is shown this once."""
    form = WebhookForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            hook, secret = webhooks.make(get_team(request), get_user(request), **data)
        except WebhookRefused as refused:
            form.add_error(None, str(refused))
        else:
            return _webhook(request, hook, _filled(hook), secret=secret)
    return _page(request, PreferencesForm(member=get_membership(request)), form, status=422)


@team_required("GET", "POST", role=Role.ADMIN)
@never_cache
def webhook(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    hook = get_object_or_404(Webhook.objects.select_related("team"), pk=pk)
    if request.method == "GET":
        return _webhook(request, hook, _filled(hook))
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _webhook(request, hook, form, status=422)
    webhooks.change(hook, get_user(request), **form.cleaned_data)
    messages.success(request, "The webhook is changed.")
    return redirect("webhook", pk=pk)


@team_required("POST", role=Role.ADMIN)
@never_cache
def webhook_test(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Sends at once and waits, at most for the deadline of every sending."""
    hook = get_object_or_404(Webhook.objects.select_related("team"), pk=pk)
    try:
        tried = deliveries.try_webhook(hook)
    except deliveries.TryLater as busy:
        messages.error(request, f"The test was not sent. {busy}")
        return redirect("webhook", pk=pk)
    if tried.state == Delivery.State.DELIVERED:
        messages.success(request, f"The test arrived: “{hook.name}” answered {tried.status_code}.")
    else:
        messages.error(request, f"The test did not arrive. {tried.error}")
    return redirect("webhook", pk=pk)


@team_required("POST", role=Role.ADMIN)
@never_cache
def webhook_change(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Another secret, off, on, or gone."""
    hook = get_object_or_404(Webhook.objects.select_related("team"), pk=pk)
    me = get_user(request)
    if "rotate" in request.POST:
        secret = webhooks.rotate(hook, me)
        hook.refresh_from_db()
        return _webhook(request, hook, _filled(hook), secret=secret)
    if "delete" in request.POST:
        webhooks.delete(hook, me)
        messages.success(request, f"“{hook.name}” is deleted, and is told nothing more.")
        return redirect("notifications")

    if "pause" in request.POST:
        webhooks.pause(hook, me)
        messages.success(request, f"“{hook.name}” is told nothing until somebody switches it on.")
    elif "resume" in request.POST:
        webhooks.resume(hook, me)
        messages.success(request, f"“{hook.name}” is told of what happens from now on.")

    return redirect("webhook", pk=pk)


def _filled(webhook: Webhook) -> WebhookForm:
    return WebhookForm(initial={name: getattr(webhook, name) for name in WebhookForm.base_fields})


def _page(request: HttpRequest, form: PreferencesForm, hook: WebhookForm, *, status: int) -> HttpResponse:
    team, user = get_team(request), get_user(request)
    rows = []
    if has_role(request, Role.ADMIN):
        for webhook in team.webhooks.all():
            rows.append((webhook, [KINDS.get(kind, kind) for kind in webhook.kinds]))

    unconfirmed = ""
    if not user.has_confirmed_email:
        unconfirmed = user.email
    context = {
        "team": team,
        "form": form,
        "hook": hook,
        "mail_works": mail_works(),
        "unconfirmed": unconfirmed,
        "webhooks": rows,
    }
    return render(request, "teams/notifications.html", context, status=status)


def _webhook(
    request: HttpRequest, hook: Webhook, form: WebhookForm, *, secret: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "webhook": hook,
        "form": form,
        "secret": secret,
        "deliveries": hook.deliveries.select_related("notice")[:MAX_DELIVERIES],
    }
    return render(request, "teams/webhook.html", context, status=status)
