"""The page that takes an exported report of another team or site."""

from typing import Any

from django.contrib import messages
from django.core.files.uploadhandler import MemoryFileUploadHandler, StopUpload
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from benchsite.teams.models import Role
from benchsite.teams.permissions import role_required, team_of, user_of
from reports.frozen.report_import import ImportRefused, import_report, stated_in
from reports.frozen.revisions import MAX_BYTES


class OneReport(MemoryFileUploadHandler):
    """Keeps one file in memory, and no more of it than a report can have."""

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self.bytes = 0
        self.too_large = False

    def handle_raw_input(self, *args: Any, **kwargs: Any) -> None:
        self.activated = True

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        self.bytes += len(raw_data)
        if self.bytes > MAX_BYTES:
            self.too_large = True
            # The rest of the request is read and thrown away: a browser cut off in the middle shows no page.
            raise StopUpload(connection_reset=False)
        return super().receive_data_chunk(raw_data, start)


@csrf_exempt  # Only until it is settled where the file goes: `_import` checks the token, which reads the whole request.
@require_http_methods(["GET", "POST"])
@role_required(Role.RUNNER)
def import_page(request: HttpRequest) -> HttpResponseBase:
    """GET shows the form, POST takes the file and goes to the report."""
    handler = OneReport(request)
    request.upload_handlers = [handler]
    return _import(request, handler)


@csrf_protect
def _import(request: HttpRequest, handler: OneReport) -> HttpResponseBase:
    if request.method != "POST":
        return _page(request)
    digest = request.POST.get("digest", "")
    file = request.FILES.get("file")
    if handler.too_large:
        return _page(request, f"The file has more than {MAX_BYTES // 2**20} MB: no report is that large.", 413)
    if file is None:
        return _page(request, "Choose the JSON file that was exported from the report.", 422)
    try:
        report = import_report(team_of(request), user_of(request), file.read(), digest or stated_in(file.name or ""))
    except ImportRefused as refused:
        return _page(request, str(refused), 422)
    messages.success(request, f"“{report.title}” was imported, exactly as it was published.")
    return redirect("report", pk=report.pk)


def _page(request: HttpRequest, problem: str = "", status: int = 200) -> HttpResponse:
    context = {"problem": problem, "digest": request.POST.get("digest", "")}
    return render(request, "reports/frozen/import.html", context, status=status)
