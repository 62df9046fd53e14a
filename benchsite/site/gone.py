"""Addresses of removed pages and endpoints. They are answered with 410 and what to use instead."""

import re
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404
from django.views.defaults import page_not_found

from benchsite.rest.fallback import PREFIX
from benchsite.rest.problems import Problem, answer

# Pattern of the whole path -> what to use instead.
GONE: Final[tuple[tuple[str, str], ...]] = (
    (
        r"/matrices/[^/]+/kit/|/api/v1/matrices/[^/]+/kit|/r/[^/]+/kit\.zip(\.sig)?",
        "Each report offers a script that repeats it, and each matrix its plan file.",
    ),
    (
        r"/matrices/[^/]+/outputs/([^/]+/)?|/api/v1/matrices/[^/]+/outputs(/[^/]+)?",
        "Upload the output of your own clients at /import/ or with POST /api/v1/runs.",
    ),
    (
        r"/published/[^/]+/([^/]+\.csv)?|/figures/published/.+|/matrices/templates/",
        "/published/ has all published numbers, as a page and as CSV, and the plan of each study.",
    ),
    (
        r"/api/v1/runs:batch|/api/v1/runs/by-key/.+",
        "Send each result as POST /api/v1/runs with the header Idempotency-Key.",
    ),
    (
        r"/watch/.*",
        "Ask the team for a report, built on Compare: its link and its embed need no account.",
    ),
    (
        r"/reports/import/",
        "Open the report on the site that published it; verify_report.py verifies its files.",
    ),
    (r"/team/hand-over/", "Invite the new owners on the page Members and make them admins."),
    (r"/scaling/", "Compare sweeps of several cluster sizes: Scalability is among “More charts”."),
    (r"/r/[^/]+\.csv(\.sig)?", "The file with the ending .zip has one CSV for each table of the report."),
    (r"/figures/price(/|\.\w+)", "Sizing states the price of a load: /sizing/."),
    (r"/figures/durability(/|\.\w+)", "The bars of Compare state what durability costs."),
    (
        r"/figures/stability(/|\.\w+)|/figures/runs/[^/]+/heat(/|\.\w+)",
        "The page of a run has its throughput and latency per second.",
    ),
)


def gone_message(path: str) -> str:
    """The replacement of a removed address; empty for any other address."""
    return next((message for pattern, message in GONE if re.fullmatch(pattern, path)), "")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The site's `handler404`."""
    message = ""
    if isinstance(exception, Resolver404):
        message = gone_message(request.path)
    if not message:
        return page_not_found(request, exception)
    if request.path.startswith(PREFIX):
        return answer(request, Problem("gone", message))
    return render(request, "410.html", {"message": message}, status=410)
