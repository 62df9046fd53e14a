"""Who really asks, behind a proxy: audit entries, sessions and limits are to name the person's address."""

import contextlib
from collections.abc import Callable
from ipaddress import ip_address

from django.http import HttpRequest, HttpResponse


class ClientAddress:
    """Takes the address that the proxy itself added, the last one; those before it anybody may have written.

    Only in force with BENCHSITE_PROXY=True.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        last = request.headers.get("X-Forwarded-For", "").split(",")[-1].strip()
        with contextlib.suppress(ValueError):  # Where nothing is an address the proxy's own stays.
            request.META["REMOTE_ADDR"] = str(ip_address(last))
        return self.get_response(request)
