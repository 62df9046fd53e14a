"""One's own e-mail and the team's webhooks."""

from django.urls import path

from benchsite.notifications import views

urlpatterns = [
    path("team/notifications/", views.notifications, name="notifications"),
    path("team/notifications/confirm/", views.confirmation_send, name="confirmation-send"),
    path("team/notifications/confirm/<str:token>/", views.confirm_address, name="confirm-address"),
    path("team/webhooks/", views.webhook_add, name="webhook-add"),
    path("team/webhooks/<uuid:pk>/", views.webhook, name="webhook"),
    path("team/webhooks/<uuid:pk>/test/", views.webhook_test, name="webhook-test"),
    path("team/webhooks/<uuid:pk>/change/", views.webhook_change, name="webhook-change"),
]
