"""Choices that views make in the same way."""

from django.forms import BaseForm
from django.http import HttpRequest, QueryDict


def part_template(request: HttpRequest, name: str) -> str:
    """The template for htmx, which replaces the part of a page that changes, or that of the whole page."""
    if request.htmx:  # type: ignore[attr-defined]
        return f"{name}_part.html"
    return f"{name}.html"


def form_status(form: BaseForm) -> int:
    """422 for a form that was sent and is shown again, 200 for an empty one."""
    if form.is_bound:
        return 422
    return 200


def get_posted(request: HttpRequest) -> QueryDict | None:
    """The fields of a form that was sent, even of an empty one; None while it is only shown."""
    if request.method != "POST":
        return None
    return request.POST
