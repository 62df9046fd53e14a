"""A load generator's side of the site's HTTP API (`workers.generator.generator_api`). No database.

Every call can be repeated. `SiteUnreachable` means that it may succeed later; `SiteRefused` that it will not.
"""

import hashlib
import io
import json
import uuid
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final
from urllib.parse import quote, urlencode, urlsplit

import urllib3
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from benchsite.core.formatting import size as size_in_words
from benchsite.core.generator_access import replaced_credential
from runs.timeouts import FILE_TIMEOUT_S
from runs.ycsb.redact import redact
from workers.generator.clock import Clock
from workers.generator.messages import ANSWER_OF_OTHERS

TIMEOUT: Final = urllib3.Timeout(connect=5, read=20)
NODES_TIMEOUT: Final = urllib3.Timeout(total=5)  # Nodes end in time where the site does not answer.
UPLOAD_TIMEOUT: Final = urllib3.Timeout(connect=5, read=FILE_TIMEOUT_S)
CLOCK_SAMPLES: Final = 7
MAX_TEXT_BYTES: Final = 64 * 1024**2  # of a file that is redacted, in memory on both sides
MAX_DETAIL: Final = 500  # characters of an answer that is no JSON
NO_CREDENTIAL: Final = (
    "This load generator has no credential. Enrol it: manage.py enrol SITE CODE, with a code that an operator makes on "
    "the page of load generators."
)
RUN_DELETED: Final = "run_deleted"  # code of the answer (410) about a client run that exists nowhere


class SiteUnreachable(Exception):
    """The site did not answer, cannot do it now, or something else answered in its place (a proxy, another release)."""


class SiteRefused(Exception):
    """The site answered that it will not; `code` is RUN_DELETED or empty."""

    def __init__(self, status: int, detail: str, code: str = "") -> None:
        super().__init__(detail)
        self.status, self.code = status, code


class FileTooLarge(SiteRefused):
    """The file is above the site's limit and will never be stored."""


class SiteClient:
    """Requests to one site with one credential. Threads may share it.

    A refused credential is replaced by the one that an enrolment wrote to `access_file` meanwhile.
    """

    def __init__(self, url: str, token: str, access_file: Path | None = None) -> None:
        self._path = f"{urlsplit(url).path.rstrip('/')}/generator-api/v1/"
        self._token, self._access_file = token, access_file
        self._pool = urllib3.connection_from_url(url, maxsize=4, retries=False, timeout=TIMEOUT)

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()

    def enrol(self, code: str) -> dict[str, Any]:
        """The `credential` for an enrolment code, and the address of Redis (`redis_url`)."""
        return self._request("POST", "enrol", headers={"Authorization": f"Bearer {code}"})

    def register(self, name: str, **fields: Any) -> str:
        """The name of this host's machine; `name` must be that of the credential."""
        return str(self._post(f"register?{urlencode({'name': name})}", fields)["machine"])

    def note_presence(self, *, probed: bool) -> dict[str, Any]:
        """Whether this ended a quarantine ("released"), whether there is one ("quarantined"), whether this load
        generator is to be calibrated now ("calibrate"), and after how many seconds to call this again ("beat_s").
        """
        return self._post("presence", {"probed": probed})

    def end_calibration(self, capacities: Mapping[str, Mapping[str, Any]], error: str) -> None:
        self._post("calibration", {"capacities": capacities, "error": error})

    def report_nodes(self, reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Nodes that this load generator is to run: `start_id`, `deployment`, `desired_state` and `order`."""
        body = json.dumps({"nodes": reports}).encode()
        nodes: list[dict[str, Any]] = self._request("POST", "nodes", body=body, timeout=NODES_TIMEOUT)["nodes"]
        return nodes

    def clock_offset_s(self, clock: Clock) -> float:
        """PostgreSQL's clock minus this host's, in seconds: of several answers the one that came fastest."""
        best_trip = float("inf")
        best_offset = 0.0
        for _ in range(CLOCK_SAMPLES):
            before = clock.local_s()
            now = float(self._request("GET", "clock")["now"])
            after = clock.local_s()
            if after - before < best_trip:
                best_trip, best_offset = after - before, now - (before + after) / 2
        return best_offset

    def claim(self, client_run: uuid.UUID, claim: uuid.UUID) -> dict[str, Any] | None:
        """The client run's `order`, `window` and `label`; None where it was claimed before, or its run is over."""
        answer = self._post(f"clients/{client_run}/claim", {"claim": str(claim)})
        if not answer["claimed"]:
            return None
        return answer

    def claim_check(self, check: uuid.UUID, claim: uuid.UUID) -> Any:
        """The order of a check's client, once; None of a check that was claimed before, or is over."""
        return self._post(f"checks/{check}/claim", {"claim": str(claim)})["order"]

    def complete_check(self, check: uuid.UUID, claim: uuid.UUID, outcome: str, detail: str) -> None:
        self._post(f"checks/{check}/complete", {"claim": str(claim), "outcome": outcome, "detail": detail})

    def report(self, client_run: uuid.UUID, claim: uuid.UUID, **fields: Any) -> tuple[bool, float | None, float | None]:
        """A heartbeat: whether the run goes on, and when its clients begin and end, in seconds since 1970."""
        answer = self._post(f"clients/{client_run}/report", {"claim": str(claim), **fields})
        return bool(answer["goes_on"]), answer["starts_at"], answer.get("ends_at")

    def note_stopped(self, client_run: uuid.UUID, claim: uuid.UUID) -> None:
        self._post(f"clients/{client_run}/stopped", {"claim": str(claim)})

    def store_file(self, client_run: uuid.UUID, claim: uuid.UUID, kind: str, path: Path) -> None:
        """Upload one file; all but histogram logs are redacted before they leave this host. Raises OSError and
        FileTooLarge, too.
        """
        if kind != "hdr" and (length := path.stat().st_size) > MAX_TEXT_BYTES:
            limit = size_in_words(MAX_TEXT_BYTES)
            raise FileTooLarge(413, f"{path.name}, {size_in_words(length)}, above the limit of {limit}")
        with path.open("rb") as file:
            content: IO[bytes] = file
            if kind == "hdr":
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
                file.seek(0)
            else:
                text = redact(file.read().decode("utf-8", errors="replace")).encode()
                digest = hashlib.sha256(text).hexdigest()
                size = len(text)
                content = io.BytesIO(text)

            query = urlencode({"claim": claim, "sha256": digest, "size": size})
            self._request(
                "PUT",
                f"clients/{client_run}/files/{kind}/{quote(path.name, safe='')}?{query}",
                body=content,
                headers={"Content-Type": "application/octet-stream", "Content-Length": str(size)},
                timeout=UPLOAD_TIMEOUT,
            )

    def complete(
        self, client_run: uuid.UUID, claim: uuid.UUID, result: dict[str, Any], missing: Sequence[str] = ()
    ) -> None:
        """`missing`: sentences about files that cannot be stored."""
        self._post(f"clients/{client_run}/complete", {"claim": str(claim), "missing": missing, **result})

    def fail(self, client_run: uuid.UUID, claim: uuid.UUID, reason: str, detail: str) -> None:
        body = {"claim": str(claim), "reason": reason, "reason_detail": detail}
        self._post(f"clients/{client_run}/fail", body)

    def _post(self, address: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._request("POST", address, body=json.dumps(body).encode())

    def _request(self, method: str, address: str, **arguments: Any) -> dict[str, Any]:
        response = self._send(method, address, **arguments)
        if response.status == HTTPStatus.UNAUTHORIZED and self._replace_credential():
            body = arguments.get("body")
            if body is not None and hasattr(body, "seek"):
                body.seek(0)
            response = self._send(method, address, **arguments)

        try:
            answer = response.json()
        except ValueError:
            answer = None

        if response.status == 200 and isinstance(answer, dict):
            return answer
        if not isinstance(answer, dict) or "detail" not in answer:
            text = response.data[:MAX_DETAIL].decode(errors="replace")
            raise SiteUnreachable(ANSWER_OF_OTHERS.format(status=response.status, text=text))

        detail = str(answer["detail"])
        if response.status >= 500 or response.status in (408, 422, 429):
            raise SiteUnreachable(detail)
        if response.status == 413:
            raise FileTooLarge(413, detail)

        raise SiteRefused(response.status, detail, str(answer.get("code", "")))

    def _send(
        self, method: str, address: str, headers: Mapping[str, str] = MappingProxyType({}), **arguments: Any
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **headers}
        try:
            return self._pool.request(method, self._path + address, headers=headers, **arguments)
        except urllib3.exceptions.SSLError as error:
            raise SiteUnreachable(
                f"The site's certificate is not accepted: {error}. SSL_CERT_FILE names the file of a private CA."
            ) from error
        except urllib3.exceptions.HTTPError as error:
            raise SiteUnreachable(f"The site does not answer: {error}") from error

    def _replace_credential(self) -> bool:
        if self._access_file is None:
            return False
        token = replaced_credential(self._access_file, self._token)
        self._token = token or self._token
        return bool(token)


@cache
def site_client() -> SiteClient:
    """This process's client. Raises ImproperlyConfigured."""
    if not settings.GENERATOR_SITE_URL or not settings.GENERATOR_TOKEN:
        raise ImproperlyConfigured(NO_CREDENTIAL)
    return SiteClient(settings.GENERATOR_SITE_URL, settings.GENERATOR_TOKEN, settings.GENERATOR_ACCESS_FILE)
