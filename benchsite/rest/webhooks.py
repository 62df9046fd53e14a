"""Webhooks of the asker's team: made, changed, tried, and what came of each delivery. For tokens of admins alone."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema, Status
from pydantic import AfterValidator, Field, StringConstraints

from benchsite.accounts.models import Delivery, NoticeKind, Scope, Webhook
from benchsite.notifications import deliveries, webhooks as verbs
from benchsite.rest.authentication import Needs, bearer_in, team_in
from benchsite.rest.paging import PageAnswer, PageQuery, Slice, get_page
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import Name, RequestSchema, Username, owned, plain, refusals

ROOT = "/api/v1"
Url = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=500),
    AfterValidator(plain),
    Field(description="https, to a public address; others only where the operator allows them."),
]
Shape = Annotated[
    Webhook.Shape,
    Field(description="`plain`: every field. `slack`, `teams`: a message that incoming webhooks there show."),
]
Kinds = Annotated[list[NoticeKind], Field(min_length=1, max_length=20, description="What it is told of.")]

router = Router(tags=["Webhooks"], auth=Needs(Scope.WEBHOOKS_WRITE))


class WebhookPlan(RequestSchema):
    name: Name
    url: Url
    kinds: Kinds
    shape: Shape = Webhook.Shape.PLAIN


class WebhookChange(RequestSchema):
    """What is left out stays."""

    name: Name | None = None
    url: Url | None = None
    kinds: Kinds | None = None
    shape: Shape | None = None
    is_active: bool | None = Field(None, description="false: it is told nothing, nor what waits for it.")


class WebhookAnswer(Schema):
    """Where a program is told. Its secret is in no answer but the one that made it."""

    id: UUID
    name: str
    url: str
    kinds: list[str]
    shape: str
    is_active: bool
    off_because: str = Field(description="Why the site switched it off; empty where a person paused it.")
    failures: int = Field(description="Notices in a row that were given up; three switch it off.")
    last_at: datetime | None
    last_status: str = Field(description="What it answered last.")
    old_secret_until: datetime | None = Field(description="Until then the secret before signs too.")
    created_by: Username
    created_at: datetime

    @staticmethod
    def resolve_old_secret_until(webhook: Webhook) -> datetime | None:
        if webhook.old_sealed or webhook.old_secret:
            return webhook.old_until
        return None


class SecretAnswer(Schema):
    secret: str = Field(description="Signs what the webhook is told. It is shown only now.")
    webhook: WebhookAnswer


class WebhookList(Schema):
    """All webhooks of the team; there are at most 20."""

    items: list[WebhookAnswer]


class DeliveryAnswer(Schema):
    """One notice on its way to a webhook."""

    id: UUID
    notice: UUID = Field(validation_alias="notice.pk", description="The `id` that the receiver gets.")
    kind: str = Field(validation_alias="notice.kind")
    subject: str = Field(validation_alias="notice.subject")
    state: str = Field(description="`waiting`, `delivered` or `given_up`.")
    attempts: int
    status_code: int | None
    error: str
    created_at: datetime
    next_at: datetime | None
    delivered_at: datetime | None


class DeliveryPage(PageAnswer):
    """Deliveries, the newest first; kept for 30 days."""

    items: list[DeliveryAnswer]


@router.get("/webhooks", response={200: WebhookList}, summary="List webhooks")
def list_webhooks(request: HttpRequest) -> dict[str, object]:
    return {"items": team_in(request).webhooks.select_related("created_by")}


@router.post("/webhooks", response={201: SecretAnswer, **refusals(409)}, summary="Make a webhook")
def make_webhook(request: HttpRequest, plan: WebhookPlan, response: HttpResponse) -> Status[dict[str, object]]:
    """The secret is in this answer and nowhere else. `conflict`: the team has as many webhooks as it may."""
    webhook, secret = verbs.make(
        team_in(request),
        bearer_in(request).user,
        name=plan.name,
        url=plan.url,
        kinds=set(plan.kinds),
        shape=plan.shape,
    )
    response["Location"] = f"{ROOT}/webhooks/{webhook.pk}"
    return Status(201, {"secret": secret, "webhook": webhook})


@router.get("/webhooks/{uuid:webhook_id}", response={200: WebhookAnswer}, summary="Read one webhook")
def get_webhook(request: HttpRequest, webhook_id: UUID) -> Webhook:
    return _get_webhook(webhook_id)


@router.patch(
    "/webhooks/{uuid:webhook_id}",
    response={200: WebhookAnswer, **refusals(409)},
    summary="Change a webhook, pause it or switch it on",
)
def change_webhook(request: HttpRequest, webhook_id: UUID, change: WebhookChange) -> Webhook:
    webhook = _get_webhook(webhook_id)
    me = bearer_in(request).user
    values = {name: getattr(webhook, name) for name in ("name", "url", "kinds", "shape")}
    changes = {key: value for key in values if (value := getattr(change, key)) is not None}
    with transaction.atomic():
        if changes:
            verbs.change(webhook, me, **{**values, **changes})
        if change.is_active is not None:
            (verbs.resume if change.is_active else verbs.pause)(webhook, me)
    return _get_webhook(webhook_id)


@router.delete(
    "/webhooks/{uuid:webhook_id}",
    response={204: None},
    summary="Delete a webhook with the log of its deliveries",
)
def delete_webhook(request: HttpRequest, webhook_id: UUID) -> Status[None]:
    verbs.delete(_get_webhook(webhook_id), bearer_in(request).user)
    return Status(204, None)


@router.post(
    "/webhooks/{uuid:webhook_id}/secret",
    response={200: SecretAnswer},
    operation_id="rotate_webhook_secret",
    summary="Give a webhook another secret",
)
def rotate_secret(request: HttpRequest, webhook_id: UUID) -> dict[str, object]:
    """For a day everything is signed with the old one as well."""
    secret = verbs.rotate(_get_webhook(webhook_id), bearer_in(request).user)
    return {"secret": secret, "webhook": _get_webhook(webhook_id)}


@router.post(
    "/webhooks/{uuid:webhook_id}/test",
    response={200: DeliveryAnswer, **refusals(409)},
    summary="Send a webhook a test",
)
def test_webhook(request: HttpRequest, webhook_id: UUID) -> Delivery:
    """At once, whether it is switched on or not, and this once only. `state` says whether it arrived, `error` why
    not. A receiver that does not answer takes five seconds. While too many tests are under way `in-flight` refuses
    another one: ask again as `Retry-After` says.
    """
    webhook = _get_webhook(webhook_id)
    try:
        return deliveries.try_webhook(webhook)
    except deliveries.TryLater as busy:
        wait = str(deliveries.RETRY_TEST_AFTER_S)
        raise Problem("in-flight", str(busy), headers={"Retry-After": wait}) from None


@router.get(
    "/webhooks/{uuid:webhook_id}/deliveries",
    response={200: DeliveryPage},
    operation_id="list_webhook_deliveries",
    summary="List what a webhook was told",
)
def list_deliveries(request: HttpRequest, webhook_id: UUID, query: Query[PageQuery]) -> Slice[Delivery]:
    rows = _get_webhook(webhook_id).deliveries.select_related("notice")
    return get_page(request, rows, ("-created_at", "-pk"), query)


def _get_webhook(pk: UUID) -> Webhook:
    return owned(Webhook.objects.select_related("team", "created_by"), pk)
