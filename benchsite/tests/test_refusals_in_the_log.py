"""A page that is refused is one line in the log; a page that fails keeps its traceback."""

import io
import logging
import logging.config
import sys

import pytest
from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied
from django.core.handlers.exception import response_for_exception
from django.test import RequestFactory

from benchsite.core.paths import make_log_folder


@pytest.fixture
def written():
    """What the site's own handler writes."""
    made = logging.config.DictConfigurator(settings.LOGGING)
    config = settings.LOGGING
    handler = logging.StreamHandler(io.StringIO())
    for name in config["handlers"]["console"]["filters"]:
        handler.addFilter(made.configure_filter(dict(config["filters"][name])))
    logger = logging.getLogger("django.request")
    logger.addHandler(handler)
    yield handler.stream
    logger.removeHandler(handler)


def answered(error):
    try:
        raise error
    except Exception as caught:
        assert sys.exc_info()[0]
        return response_for_exception(RequestFactory().get("/runs/"), caught)


@pytest.mark.parametrize(("error", "status"), [(PermissionDenied("No."), 403), (BadRequest("What?"), 400)])
def test_a_refusal_is_one_line(written, error, status):
    assert answered(error).status_code == status
    assert written.getvalue().count("\n") == 1 and "/runs/" in written.getvalue()


def test_a_failure_keeps_its_traceback(written):
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("django.request").error("Failed", exc_info=True, extra={"status_code": 500})
    assert "Traceback" in written.getvalue()


def test_logs_are_for_the_sites_own_account(tmp_path):
    folder = tmp_path / "var" / "log"
    for _ in range(2):
        make_log_folder(folder)
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o755)  # as an earlier release left it
    assert folder.parent.stat().st_mode & 0o777 == 0o755
