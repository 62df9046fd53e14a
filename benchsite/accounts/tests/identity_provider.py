"""A small OpenID Connect provider on the loopback, for tests: it knows one person, and signs what it says of them."""

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, SECRET = "benchsite", "a secret of the client"


class Provider:
    """`person` is what it says of whoever comes; `refuses` makes it send them back without an identity."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.person = {"sub": "42", "preferred_username": "grace", "email": "grace@example.org", "name": "Grace H"}
        self.refuses = False
        self.codes: dict[str, dict[str, str]] = {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                if parts.path == "/authorize":
                    return self.redirect(provider.answer_to(query))
                known = {
                    "/.well-known/openid-configuration": provider.configuration,
                    "/keys": provider.keys,
                    "/person": lambda: provider.person,
                }
                return self.say(known[parts.path]()) if parts.path in known else self.send_error(404)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                held = provider.codes.pop(form.get("code", ""), None)
                if held is None or form.get("client_secret") != SECRET:
                    return self.send_error(400)
                return self.say(provider.token(held))

            def say(self, answer: object) -> None:
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def redirect(self, to: str) -> None:
                self.send_response(302)
                self.send_header("Location", to)
                self.send_header("Content-Length", "0")
                self.end_headers()

        return Handler

    def configuration(self) -> dict[str, object]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/person",
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def keys(self) -> dict[str, object]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "1", "alg": "RS256", "use": "sig"}]}

    def answer_to(self, query: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        state = {"state": query["state"]}
        if self.refuses:
            return f"{query['redirect_uri']}?{urlencode({'error': 'access_denied', **state})}"
        code = secrets.token_urlsafe(8)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, **state})}"

    def token(self, held: dict[str, str]) -> dict[str, object]:
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 60, **self.person}
        if "nonce" in held:
            claims["nonce"] = held["nonce"]
        signed = jwt.encode(claims, self.key, "RS256", headers={"kid": "1"})
        return {"access_token": secrets.token_urlsafe(8), "token_type": "Bearer", "expires_in": 60, "id_token": signed}


@contextmanager
def identity_provider() -> Iterator[Provider]:
    provider = Provider()
    thread = threading.Thread(target=provider.server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield provider
    finally:
        provider.server.shutdown()
        thread.join()
        provider.server.server_close()
