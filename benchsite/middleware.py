"""Headers on every response: the Content-Security-Policy, and that nobody else keeps what a person was shown."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse


class ContentSecurityPolicy:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        # A team's pages are for whoever asked: no proxy keeps them, and a browser asks again. Views may say otherwise.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response
