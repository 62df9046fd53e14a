"""Pages as tests read them: without the line breaks of templates, which no browser shows."""

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

BLOCKS = (
    "html|head|body|main|section|article|header|footer|nav|aside|div|p|ul|ol|li|dl|dt|dd|table|thead|tbody|tfoot|tr|td"
    "|th|caption|h[1-6]|form|fieldset|legend|details|summary|figure|figcaption|option|optgroup|br|hr|link|meta|title"
)
KEPT = re.compile(r"(<(?:pre|textarea)\b.*?</(?:pre|textarea)>)", re.DOTALL)
AT_A_BLOCK = re.compile(rf"(</?(?:{BLOCKS})\b[^<>]*>)[ ]*\n\s*|\s*\n\s*(?=</?(?:{BLOCKS})\b)")
ELSEWHERE = re.compile(r"\s*\n\s*")


def without_line_breaks(html: str) -> str:
    """A line break at the edge of a block is nothing, any other one is a blank; both as browsers have it."""
    parts = KEPT.split(html)
    return "".join(
        part if number % 2 else ELSEWHERE.sub(" ", AT_A_BLOCK.sub(lambda match: match[1] or "", part))
        for number, part in enumerate(parts)
    )


class WithoutLineBreaks:
    """The innermost middleware of test sessions."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        # A report's pages are signed and counted by the byte.
        is_page = response.headers.get("Content-Type", "").startswith("text/html") and not response.streaming
        if is_page and not request.path.startswith("/r/") and "Content-Encoding" not in response.headers:
            response.content = without_line_breaks(response.content.decode()).encode()  # type: ignore[attr-defined]
        return response
