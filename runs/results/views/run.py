"""The page of one run: live while it goes, with its verdict afterwards."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import get_valid_filename

from benchsite.accounts.permissions import get_user, team_required
from runs.checks.short_windows import is_too_short
from runs.models import Artifact, Run, Status
from runs.queue import lifecycle, live
from runs.queue.pages.queue import queue, silent_parts
from runs.results import annotations
from runs.results.artifacts import chunks
from runs.results.duplicates import find_earlier
from runs.results.messages import WINDOW_TOO_SHORT
from runs.results.pages.run import estimate_run_progress, get_clients, get_run_events, run_page
from runs.results.recording.recut import RecutRefused, choose_set, recut
from runs.results.views.row_actions import row_action


def _run_or_404(pk: UUID) -> Run:
    named = ("team", "matrix", "sweep", "cluster", "needs", "rerun_of", "excluded_by")
    return get_object_or_404(Run.objects.select_related(*named).prefetch_related("load_generators", "reruns"), pk=pk)


@team_required("GET")
def run(request: HttpRequest, pk: UUID) -> HttpResponse:
    return render(request, "runs/run.html", _context(request, _run_or_404(pk)))


@team_required("GET")
def run_live(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """The parts of a going run's page. As it begins or ends the whole body is replaced; an ended one asks no more."""
    run = _run_or_404(pk)
    context = _context(request, run) | {"oob": True, "changed": request.GET.get("seen") != _seen(run)}
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect("run", pk=pk)
    began = run.status == Status.RUNNING and not request.GET.get("seen", "").startswith(Status.RUNNING)
    if run.status not in Status.terminal() and not began:
        return render(request, "runs/run/live.html", context)
    response = render(request, "runs/run/going.html" if began else "runs/run/ended.html", context)
    response["HX-Retarget"] = "#run-body"
    response["HX-Reswap"] = "outerHTML"
    return response


def _context(request: HttpRequest, run: Run) -> dict[str, object]:
    ended = run.status in Status.terminal()
    context: dict[str, object] = {
        "run": run,
        "ended": ended,
        "seen": _seen(run),
        "tags": ", ".join(run.tags),
    }
    if ended:
        run.duplicate_of = find_earlier([run]).get(run)
        return context | {"page": run_page(run), "too_short": is_too_short(run)}

    running = run.status == Status.RUNNING
    return context | {
        "way": estimate_run_progress(run),
        # The queue is read for a run that waits in it; while one measures, its page costs the site as little as it can.
        "place": None if running else queue(Run.objects.filter(pk=run.pk)).get_row(run),
        "silent": silent_parts([run]).get(run.pk, []) if run.status == Status.QUEUED else [],
        "live": live.read(run.pk) if running else None,
        "clients": get_clients(run),
        "moments": get_run_events(run),
    }


def _seen(run: Run) -> str:
    """The state that was last announced, so that nothing is announced twice."""
    return f"{run.status}-{run.stage}{'-cancelling' if run.cancel_requested_at else ''}"


@row_action(Run)
def run_cancel(request: HttpRequest, run: Run) -> None:
    if run.status in Status.terminal():
        messages.info(request, f"“{run.name}” had ended before it could be cancelled.")
    else:
        lifecycle.request_cancel(run, get_user(request))


@row_action(Run)
def run_again(request: HttpRequest, run: Run) -> HttpResponseBase | None:
    if run.source == Run.Source.UPLOADED:
        messages.info(request, f"“{run.name}” was uploaded: import another repeat of it instead.")
        return None
    if run.status not in Status.terminal():
        messages.info(request, f"“{run.name}” has not ended yet: it can be run again afterwards.")
        return None
    if is_too_short(run):
        messages.error(request, WINDOW_TOO_SHORT.format(run=run.name))
        return redirect(f"{reverse('matrix', args=[run.matrix_id])}#rejections")
    again = lifecycle.run_again(run, get_user(request))
    messages.success(request, f"“{again.name}” was put in the queue. It adds a repeat; “{run.name}” stays as it is.")
    return redirect("run", pk=again.pk)


@row_action(Run, annotations.AnnotationRefused)
def run_annotate(request: HttpRequest, run: Run) -> None:
    """Tags and notes, saved together."""
    tags = annotations.parse_tags(request.POST.get("tags", ""))
    annotations.set_notes(run, get_user(request), request.POST.get("notes", ""))
    annotations.set_tags(run, get_user(request), tags)
    messages.success(request, "Tags and notes are saved.")


@row_action(Run, annotations.AnnotationRefused)
def run_exclude(request: HttpRequest, run: Run) -> None:
    """Exclude the run with a reason, or include it again."""
    if "include" in request.POST:
        annotations.include([run], get_user(request))
        messages.success(request, f"“{run.name}” counts again.")
    else:
        annotations.exclude([run], get_user(request), request.POST.get("reason", ""))
        messages.success(request, f"“{run.name}” is excluded. It stays visible, with your reason.")


@row_action(Run, annotations.AnnotationRefused)
def run_override(request: HttpRequest, run: Run) -> None:
    """Count a rejected run with a written reason, or let the verdict decide again."""
    if "withdraw" in request.POST:
        annotations.withdraw_override(run, get_user(request))
        messages.success(request, f"The verdict decides again: “{run.name}” does not count.")
    else:
        annotations.override(run, get_user(request), request.POST.get("reason", ""))
        messages.success(request, f"“{run.name}” counts, marked and with your reason.")


@row_action(Run, RecutRefused, anchor="#window")
def run_cut(request: HttpRequest, run: Run) -> None:
    """Cut the run's window again, or make an older cut the current one."""
    sent = request.POST
    user = get_user(request)
    if "number" in sent:
        measurement_set = choose_set(run, _whole(sent["number"]), user)
        messages.success(request, f"Cut {measurement_set.number} is the current one.")
    else:
        warmup_s, tail_s = _seconds(sent.get("warmup_s", "")), _seconds(sent.get("tail_s", ""))
        measurement_set = recut(run, warmup_s=warmup_s, tail_s=tail_s, user=user, reason=sent.get("reason", "").strip())
        messages.success(request, f"Cut {measurement_set.number} is the current one; the others stay as they are.")


def _seconds(text: str) -> float:
    try:
        return float(text or 0)
    except ValueError:
        raise RecutRefused(f"“{text[:40]}” is no number of seconds.") from None


def _whole(text: str) -> int:
    # No cut has the number 0.
    if text.isdecimal() and len(text) < 5:
        return int(text)
    return 0


@team_required("GET")
def artifact(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """One artifact as a download, whatever it holds: never shown by the browser, never guessed at."""
    row = get_object_or_404(Artifact.objects.select_related("run"), pk=pk)
    try:
        content = chunks(row.sha256)
    except OSError:
        context = {"artifact": row}
        return render(request, "runs/artifact_gone.html", context, status=404)
    response = StreamingHttpResponse(content, content_type="application/octet-stream")
    name = get_valid_filename(f"{row.run.name} {row.name}")
    response["Content-Disposition"] = f'attachment; filename="{name.encode("ascii", "replace").decode()}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
