"""Headers on every response: the Content-Security-Policy, and that nobody else keeps what a person was shown.

And a page for whoever opens an address that only takes what a form sends.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from benchsite.url_checks import openable


class ContentSecurityPolicy:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        # A team's pages are for whoever asked: no proxy keeps them, and a browser asks again. Views may say otherwise.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


class PageOfWrongMethod:
    """Django answers a wrong method with an empty page; people get one that says so and leads on, programs do not."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code == 405 and not response.content and "text/html" in request.headers.get("Accept", ""):
            context = {"opened": request.method == "GET", "back": openable(request.path)}
            response.content = render_to_string("405.html", context).encode()
        return response
