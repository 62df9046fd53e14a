"""What an identity provider answers is not believed before its signature is verified and its claims have a form.

django-allauth skips the signature of an ID token that came by a connection of its own, and answers 500 to claims that
it did not expect.
"""

import logging
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Final

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect import views
from django.core.exceptions import DisallowedRedirect
from django.http import Http404, HttpRequest, HttpResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints
from requests import PreparedRequest, RequestException, Response, Session, Timeout
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from benchsite.accounts.messages import CONTROL_CHARACTERS, ID_TOKEN_OF_OTHER_CLIENT
from benchsite.accounts.password_hashing import Busy
from benchsite.core.formatting import exact

log = logging.getLogger(__name__)
# With a private key of the provider: the client's secret signs nothing here.
ALGORITHMS: Final = frozenset({
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
})  # fmt: skip
REQUIRED_CLAIMS: Final = ("iss", "aud", "exp", "iat", "sub")
MAX_CLOCK_DIFFERENCE_S: Final = 30
DEADLINE_S: Final = 10.0  # of an answer; nothing arrives for half of it: it ends earlier
MAX_ANSWER_BYTES: Final = 1_000_000
# A provider that answers slowly occupies so many of a process's threads and no more.
_slots: Final = threading.BoundedSemaphore(2)
# Of an answer that is not the protocol's: the person may try again, and the log has what was wrong.
MALFORMED: Final = (
    OAuth2Error, RequestException, HTTPError, jwt.PyJWTError, DisallowedRedirect,
    KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError,
)  # fmt: skip


class _BoundedAnswers(HTTPAdapter):
    """Reads answers of at most MAX_ANSWER_BYTES for at most DEADLINE_S. Raises RequestException or HTTPError."""

    def send(self, request: PreparedRequest, *_: Any, **options: Any) -> Response:
        end = time.monotonic() + DEADLINE_S
        content = bytearray()
        with super().send(request, **{**options, "stream": True, "timeout": DEADLINE_S / 2}) as response:
            while block := response.raw.read1(65_536, decode_content=True):
                content += block
                if len(content) > MAX_ANSWER_BYTES:
                    raise RequestException(f"The answer has more than {MAX_ANSWER_BYTES} bytes.")
                if time.monotonic() > end:
                    raise Timeout(f"The answer is not complete after {exact(DEADLINE_S)} s.")
        response._content = bytes(content)
        return response


def make_session() -> Session:
    """For requests to the provider."""
    session = Session()
    for scheme in ("https://", "http://"):
        session.mount(scheme, _BoundedAnswers())
    return session


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError(CONTROL_CHARACTERS)
    return text


Text = Annotated[str, StringConstraints(strict=True, max_length=150), AfterValidator(_printable)]


class Claims(BaseModel):
    """What is read of a person; the lengths are those of the columns."""

    model_config = ConfigDict(hide_input_in_errors=True)  # The log has no addresses of people.

    sub: Annotated[str, StringConstraints(strict=True, min_length=1, max_length=191), AfterValidator(_printable)]
    preferred_username: Text | None = None
    email: Annotated[str, StringConstraints(strict=True, max_length=254), AfterValidator(_printable)] | None = None
    email_verified: bool = False
    name: Text | None = None
    given_name: Text | None = None
    family_name: Text | None = None


class VerifyingAdapter(views.OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        """Raises one of MALFORMED."""
        signed = self._decode_id_token(app, kwargs["response"]["id_token"])
        person = Claims.model_validate(signed)
        if "userinfo_endpoint" in self.openid_config:
            person = Claims.model_validate(self._fetch_user_info(token.token))
        if person.sub != signed["sub"]:
            raise OAuth2Error("The user info is about another person than the ID token.")
        return self.get_provider().sociallogin_from_response(
            request, {"userinfo": person.model_dump(exclude_none=True)}
        )

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        """The claims. Raises one of MALFORMED."""
        with get_adapter().get_requests_session() as session:
            response = session.get(self.openid_config["jwks_uri"])
            response.raise_for_status()
            keys = jwt.PyJWKSet.from_dict(response.json()).keys

        header = jwt.get_unverified_header(id_token)
        named = [key for key in keys if header.get("kid") in (None, key.key_id)]
        [key] = [key for key in named if key.algorithm_name == header["alg"] and header["alg"] in ALGORITHMS]
        claims: dict[str, Any] = jwt.decode(
            id_token,
            key.key,
            algorithms=[key.algorithm_name],
            audience=app.client_id,
            issuer=[self.openid_config["issuer"]],  # None alone would allow every issuer.
            leeway=MAX_CLOCK_DIFFERENCE_S,
            options={"require": [*REQUIRED_CLAIMS]},
        )
        if claims.get("azp", app.client_id) != app.client_id:
            raise OAuth2Error(ID_TOKEN_OF_OTHER_CLIENT)

        return claims


def _refusing(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The view with a page that says so where the provider's answers are malformed."""

    @wraps(view)
    def respond(request: HttpRequest, provider_id: str) -> HttpResponse:
        if not _slots.acquire(blocking=False):
            raise Busy
        try:
            response: HttpResponse = view(request, provider_id)
        except MALFORMED as error:
            log.warning("The identity provider's answer was refused: %s: %s", type(error).__name__, str(error)[:500])
            response = render_authentication_error(request, None, exception=error)
        finally:
            _slots.release()
        return response

    return respond


login = _refusing(views.login)


@_refusing
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    try:
        response: HttpResponse = OAuth2CallbackView.adapter_view(VerifyingAdapter(request, provider_id))(request)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    return response
