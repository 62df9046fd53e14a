"""What every request passes: address behind a proxy, headers and compression of responses, pages of wrong methods."""

import contextlib
from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.template.loader import render_to_string

from benchsite.core.url_checks import openable


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class ClientAddress(Middleware):
    """Takes the address that the proxy itself added, the last one; those before it anybody may have written.

    Only in force with BENCHSITE_PROXY=True.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        last = request.headers.get("X-Forwarded-For", "").split(",")[-1].strip()
        with contextlib.suppress(ValueError):  # Where nothing is an address the proxy's own stays.
            request.META["REMOTE_ADDR"] = str(ip_address(last))
        return self.get_response(request)


class ContentSecurityPolicy(Middleware):
    """Headers on every response: the policy, and that nobody else keeps what a person was shown."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        # A team's pages are for whoever asked: no proxy keeps them, and a browser asks again. Views may say otherwise.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


class Compression(GZipMiddleware):
    """Compresses text, except in responses with a secret, which `no-store` marks.

    The reason is in docs/developers/decisions/compression.md.
    """

    TYPES = ("text/", "application/json", "application/problem+json", "image/svg+xml")

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        holds_secret = "no-store" in response.headers.get("Cache-Control", "")
        if holds_secret or not response.headers.get("Content-Type", "").startswith(self.TYPES):
            return response
        return super().process_response(request, response)


class PageOfWrongMethod(Middleware):
    """Django answers a wrong method with an empty page; people get one that says so and leads on, programs do not."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code == 405 and not response.content and "text/html" in request.headers.get("Accept", ""):
            context = {"opened": request.method == "GET", "back": openable(request.path)}
            response.content = render_to_string("405.html", context).encode()
        return response
