"""The one settings file. The environment is read through `benchsite.core.env`, which refuses nonsense."""

import hashlib
import os
import secrets
import sys
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from benchsite.core import generator_access, paths, production
from benchsite.core.artifact_storage import artifact_storage
from benchsite.core.env import (
    env_bool,
    env_choice,
    env_float,
    env_int,
    env_list,
    env_networks,
    env_path,
    env_ports,
    env_str,
)
from benchsite.notifications import mail

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = env_path("BENCHSITE_VAR", BASE_DIR / "var")

DEBUG = env_bool("BENCHSITE_DEBUG", False)

# --- Where the data is -------------------------------------------------------------------------------------------
# Without a URL the site uses its own private servers, which `manage.py up` starts; their places follow from VAR_DIR
# alone, so that every command finds them without asking.
PLACES = paths.places(VAR_DIR)
STATED_REDIS_URL = env_str("REDIS_URL", "")
EMBEDDED_POSTGRESQL = not env_str("DATABASE_URL", "")
EMBEDDED_REDIS = not STATED_REDIS_URL
EMBEDDED = EMBEDDED_POSTGRESQL and EMBEDDED_REDIS
if EMBEDDED_POSTGRESQL:
    # What a shell says of another PostgreSQL (PGPORT, PGUSER ...) would lead psycopg away from the private one.
    for name in [name for name in os.environ if name.startswith("PG") and name != "PGSSLROOTCERT"]:
        del os.environ[name]
DATABASE_URL = env_str("DATABASE_URL", PLACES.database_url)
# A load generator (docs/deployment.md): where its site is, and its credential. Its site alone knows the secret key.
GENERATOR_ACCESS_FILE = env_path("BENCHSITE_GENERATOR_FILE", VAR_DIR / "generator.json")
ACCESS = generator_access.read_access(GENERATOR_ACCESS_FILE)
GENERATOR_SITE_URL = production.checked_url(env_str("BENCHSITE_SITE_URL", ACCESS["site_url"]), "BENCHSITE_SITE_URL")
GENERATOR_TOKEN = env_str("BENCHSITE_GENERATOR_TOKEN", ACCESS["credential"])
# It has neither the database nor a key of the site, also before it has a credential.
IS_GENERATOR = bool(GENERATOR_TOKEN) or sys.argv[1:2] == ["enrol"] or sys.argv[1:3] == ["component", "generator"]
REDIS_URL = STATED_REDIS_URL or ACCESS["redis_url"] or PLACES.redis_url
# The address of Redis for load generators, without user and password: each has its own.
GENERATOR_REDIS_URL = env_str("BENCHSITE_GENERATOR_REDIS_URL", generator_access.without_user(REDIS_URL))
if GENERATOR_TOKEN:
    REDIS_URL = generator_access.own_redis_url(REDIS_URL, GENERATOR_TOKEN)
if IS_GENERATOR:
    generator_access.forget_secrets(os.environ)
# The pool belongs in the web process only: workers hold one connection each for a long time.
DATABASE_POOL = env_bool("BENCHSITE_DATABASE_POOL", False)
DATABASES = {}
if not IS_GENERATOR:
    DATABASES = {"default": paths.django_database(DATABASE_URL)}
if DATABASE_POOL:
    from benchsite.core.database_pool import POOL

    DATABASES["default"]["OPTIONS"]["pool"] = POOL
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "cache2",  # The first had pickled entries.
        # What is remembered can be computed: a page never waits long for a Redis that does not answer.
        "OPTIONS": {
            "serializer": "benchsite.core.cache_serializer.MessagePackSerializer",
            "socket_connect_timeout": 0.5,
            "socket_timeout": 1.0,
        },
    }
}
INCOMING_DIR = env_path("BENCHSITE_INCOMING", VAR_DIR / "incoming")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": VAR_DIR / "files"}},
    "artifacts": artifact_storage(VAR_DIR / "artifacts"),
    # What people upload, until it is read: it may hold secrets, so nobody else on this host may look into it.
    "incoming": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {
            "location": INCOMING_DIR,
            "file_permissions_mode": 0o600,
            "directory_permissions_mode": 0o700,
        },
    },
    # Tests and a debugging server run before `collectstatic`, so they know no manifest of hashed names.
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG or "pytest" in sys.modules
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# What one upload may ask for, on the import page or by a program. More files are packed into an archive.
MAX_UPLOAD_FILES = 100
# Django's own limit, with a manifest and one too many: the page then says what to do.
DATA_UPLOAD_MAX_NUMBER_FILES = MAX_UPLOAD_FILES + 2
# Of the form of an import whose runs are each of a test of its own.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000
# Of an upload by a program, up to so many bytes, as they come, are judged in the request.
UPLOAD_AT_ONCE_BYTES = env_int("BENCHSITE_UPLOAD_AT_ONCE_BYTES", 1024**2, least=1024, most=16 * 1024**2)
MAX_UPLOAD_BYTES = env_int("MAX_BENCHSITE_UPLOAD_BYTES", 1024**3, least=1024, most=64 * 1024**3)
UPLOAD_EXPANDED_BYTES = env_int("BENCHSITE_UPLOAD_EXPANDED_BYTES", 32 * 1024**2, least=1024, most=1024**3)
# Only the import page and the API take files, with handlers of their own.
FILE_UPLOAD_HANDLERS = ["runs.uploads.upload_handlers.NoFiles"]

# --- Security ----------------------------------------------------------------------------------------------------
# A site that others reach: it refuses to start with what is fine on one's own machine (`benchsite.core.production`).
PRODUCTION = env_bool("BENCHSITE_PRODUCTION", False)
PUBLIC_URL = production.checked_url(env_str("BENCHSITE_URL", ""))  # what people type; empty: nobody said so
HOSTS = [*production.get_host(PUBLIC_URL), *production.get_host(GENERATOR_SITE_URL), "127.0.0.1", "localhost"]
ALLOWED_HOSTS = env_list("BENCHSITE_HOSTS", HOSTS)
SECRET_KEY = secrets.token_urlsafe(50) if IS_GENERATOR else env_str("BENCHSITE_SECRET_KEY", "")
if not SECRET_KEY:
    if not EMBEDDED:
        raise ImproperlyConfigured(
            "BENCHSITE_SECRET_KEY is not set: give the site a random text of 50 characters or more."
        )
    SECRET_KEY = ""
    if not PRODUCTION:
        SECRET_KEY = paths.stored_secret(VAR_DIR / "secret-key")
# Keys of before, while what was signed and sealed with them still counts (docs/deployment.md).
SECRET_KEY_FALLBACKS = env_list("BENCHSITE_SECRET_KEY_FALLBACKS", [])
if PRODUCTION and not IS_GENERATOR:
    production.refuse_unsafe(debug=DEBUG, embedded=EMBEDDED, secret_key=SECRET_KEY, url=PUBLIC_URL)
# By it the site signs what it publishes (reports/published/exports.py). Empty: the text in this file, made when needed.
SIGNING_KEY = env_str("BENCHSITE_SIGNING_KEY", "")
SIGNING_KEY_FILE = VAR_DIR / "signing-key"
# Former keys: the site still states that they are its own.
SIGNING_KEY_FALLBACKS = env_list("BENCHSITE_SIGNING_KEY_FALLBACKS", [])
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
HTTPS = env_bool("BENCHSITE_HTTPS", PUBLIC_URL.startswith("https://"))
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# A proxy in front that always writes X-Forwarded-Proto and X-Forwarded-For itself. Never set without one: then
# anybody could write them. The name of the site is taken from Host alone, never from X-Forwarded-Host.
BEHIND_PROXY = env_bool("BENCHSITE_PROXY", False)
SECURE_PROXY_SSL_HEADER = None
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = HTTPS and BEHIND_PROXY
# Asked from inside, where there is no TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$", r"^generator-api/"]
SECURE_HSTS_SECONDS = env_int("BENCHSITE_HSTS_S", production.A_YEAR_S if HTTPS else 0, least=0, most=10**9)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env_bool("BENCHSITE_HSTS_SUBDOMAINS", False)
# Other sites below the same name are not ours to promise TLS for, unless somebody says so.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
if SECURE_HSTS_INCLUDE_SUBDOMAINS:
    SILENCED_SYSTEM_CHECKS = []
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []
# Two sites on one host share cookies whatever their ports are, so the names carry the site's own mark.
SITE_MARK = hashlib.sha256(str(VAR_DIR).encode()).hexdigest()[:8]
SESSION_COOKIE_NAME = f"benchsite_session_{SITE_MARK}"
CSRF_COOKIE_NAME = f"benchsite_csrf_{SITE_MARK}"
# Plotly writes inline styles; nothing else may leave 'self'.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "object-src 'none'; base-uri 'self'; form-action 'self'%s; frame-ancestors 'none'"
)
# The provider of identities, where there is one (docs/deployment.md): its address as OpenID Connect's discovery has it.
OIDC_URL = env_str("BENCHSITE_OIDC_URL", "")
OIDC_NAME = env_str("BENCHSITE_OIDC_NAME", "single sign-on")  # as the button says it
# Who may come without an account here: "invited" to a team, or "everybody" whom the provider knows.
OIDC_SIGN_UP = env_choice("BENCHSITE_OIDC_SIGN_UP", "invited", ["invited", "everybody"])
# A form's answer leads to the provider, which browsers allow only where the policy says so.
CONTENT_SECURITY_POLICY %= " {0.scheme}://{0.netloc}".format(urlsplit(OIDC_URL)) if OIDC_URL else ""

# Which other sites may show a figure of a report in a frame: https://wiki.example. Nothing else may ever be framed.
EMBED_ANCESTORS = env_list("BENCHSITE_EMBED_ANCESTORS", [])

# --- Django ------------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "benchsite",
    "benchsite.accounts",
    "runs",
    "workers",
    "reports",
    "benchmarks",  # its commands
]
# What packages below `reports` ask it, by name: they do not import it, and load generators need none of it.
NOTICE_FINDERS = [
    "reports.trends.change_point_alerts.look",
    "reports.trends.upload_alerts.look",
    "reports.compare.queries.curves.store_recent",
]
# (matrices, sweeps) -> what shows them, as it is named and where
DELETION_MENTIONS = "reports.published.queries.reports.find_reports"
UPLOAD_ADDITIONS = ["reports.trends.api.verdicts.against_a_baseline"]  # to the API's answer about an upload
MIDDLEWARE = [
    "benchsite.core.request_metrics.CountRequests",
    *(["benchsite.core.middleware.ClientAddress"] if BEHIND_PROXY else []),
    "django.middleware.security.SecurityMiddleware",
    "benchsite.core.middleware.Compression",
    "benchsite.core.middleware.ContentSecurityPolicy",
    "benchsite.rest.fallback.ProblemsBelowApi",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "benchsite.core.middleware.PageOfWrongMethod",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "benchsite.accounts.middleware.AnonymousBodies",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "benchsite.accounts.middleware.CurrentTeam",
    "benchsite.accounts.middleware.RequiredSecondFactor",
]
ROOT_URLCONF = "benchsite.urls"
WSGI_APPLICATION = "benchsite.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "benchsite.accounts.permissions.roles",
            ],
        },
    }
]
AUTH_USER_MODEL = "teams.User"
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
ACCOUNT_ADAPTER = "benchsite.accounts.sso.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_UNIQUE_EMAIL = False  # An address proves nothing here: nobody is found by it.
ACCOUNT_RATE_LIMITS = False  # The forms count (`benchsite.accounts.login_throttling`).
# Whoever signs in without the provider of identities sets a second factor up before any other page (docs/teams.md).
REQUIRE_SECOND_FACTOR = env_bool("BENCHSITE_REQUIRE_SECOND_FACTOR", False)
MFA_ADAPTER = "benchsite.accounts.second_factor.Adapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_TOLERANCE = 1  # steps of 30 s; each code counts once all the same (`benchsite.accounts.second_factor`)
SOCIALACCOUNT_ADAPTER = "benchsite.accounts.sso.SocialAccountAdapter"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "sso",
                "name": OIDC_NAME,
                "client_id": env_str("BENCHSITE_OIDC_CLIENT_ID", ""),
                "secret": env_str("BENCHSITE_OIDC_SECRET", ""),
                "settings": {"server_url": OIDC_URL},
            }
        ]
        if OIDC_URL
        else [],
    }
}
PASSWORD_HASHERS = ["benchsite.accounts.password_hashing.BoundedHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "benchsite.accounts.password_validation.SiteWordValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = env_path("BENCHSITE_STATIC", VAR_DIR / "static")
STATICFILES_DIRS = [
    BASE_DIR / "static",
    ("docs", BASE_DIR / "docs" / "images"),
    # The files of the interactive API documentation. As an app it would cost every process of the site 12 MB.
    Path(str(distribution("django-ninja").locate_file("ninja/static"))),
]
# A page served before `collectstatic` has run (tests, a plain runserver) still finds its files.
WHITENOISE_USE_FINDERS = DEBUG or "pytest" in sys.modules

# --- Celery ------------------------------------------------------------------------------------------------------
CELERY_BROKER_URL = paths.broker_url(REDIS_URL)
# A Redis that accepts connections but does not answer fails a message after some seconds; its sender is not blocked.
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 3.0, "socket_connect_timeout": 3.0, "socket_keepalive": True}
if GENERATOR_TOKEN:
    CELERY_BROKER_TRANSPORT_OPTIONS |= generator_access.unacked_keys(generator_access.get_name(GENERATOR_TOKEN))
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False  # Its broadcasts reach every worker.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.0, "interval_step": 0.2, "interval_max": 0.2}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_CREATE_MISSING_QUEUES = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_ALWAYS_EAGER = False

# --- REST API ----------------------------------------------------------------------------------------------------
# What one token may do in a minute; 0: as much as it likes.
API_REQUESTS_PER_MINUTE = env_int("BENCHSITE_API_REQUESTS_PER_MINUTE", 120, least=0, most=1_000_000)
API_UPLOADS_PER_MINUTE = env_int("BENCHSITE_API_UPLOADS_PER_MINUTE", 60, least=0, most=1_000_000)
# Forty machines push with one token, every two seconds each.
API_PUSHES_PER_MINUTE = env_int("BENCHSITE_API_PUSHES_PER_MINUTE", 1200, least=0, most=1_000_000)

# --- Limits of teams (docs/deployment.md); 0: none ----------------------------------------------------------------
LIMITS = {
    "teams-per-person": env_int("BENCHSITE_MAX_TEAMS_PER_PERSON", 20, least=0, most=10**6),  # as their admin
    "tokens-per-team": env_int("BENCHSITE_MAX_TOKENS_PER_TEAM", 100, least=0, most=10**6),
    "queued-runs-per-team": env_int("BENCHSITE_MAX_QUEUED_RUNS_PER_TEAM", 20_000, least=0, most=10**9),
    "storage-per-team": env_int("BENCHSITE_MAX_STORAGE_GIB_PER_TEAM", 1024, least=0, most=10**6) * 1024**3,
    "uploads-per-team": env_int("BENCHSITE_MAX_UPLOADS_PER_HOUR_PER_TEAM", 10_000, least=0, most=10**9),
}

# --- Benchsite ---------------------------------------------------------------------------------------------------
YCSB_DIR = env_path("BENCHSITE_YCSB", VAR_DIR / "ycsb")  # the bindings made by `make bindings`
SERVERS_DIR = env_path("BENCHSITE_SERVERS", VAR_DIR / "servers")  # Java servers fetched by `make servers`
# Unpacked YCSB distributions on a load generator, apart as PATH is: each binding is offered as "FOLDER/NAME".
YCSB_HOMES = [Path(home) for home in env_str("BENCHSITE_YCSB_HOMES", "").split(os.pathsep) if home]
WORK_DIR = env_path("BENCHSITE_WORK", VAR_DIR / "work")  # client runs' own folders, on a load generator
TARGETS_DIR = env_path("BENCHSITE_TARGETS", PLACES.targets)  # data folders of servers under test
# Networks in which external clusters of all teams may lie: 10.0.0.0/8,192.168.7.0/24. A page allows them for one team.
# Empty: on a one-machine site that nobody else reaches, private ones (benchsite/core/own_servers.py).
EXTERNAL_NETWORKS = env_networks("BENCHSITE_EXTERNAL_NETWORKS")
BIND = env_str("BENCHSITE_BIND", "127.0.0.1")  # where `component web` listens
# Clusters of kind docker (docs/deployment.md): the engine's socket on the conductor's machine, the network its servers
# are on, whether missing images are fetched when a server is provisioned, and limits of each server (0: none).
DOCKER_HOST = env_str("DOCKER_HOST", "unix:///var/run/docker.sock")
DOCKER_NETWORK = env_str("BENCHSITE_DOCKER_NETWORK", "host")
DOCKER_PULL = env_bool("BENCHSITE_DOCKER_PULL", False)
DOCKER_MEMORY_MB = env_int("BENCHSITE_DOCKER_MEMORY_MB", 0, least=0, most=16 * 1024**2)
DOCKER_CPUS = env_float("BENCHSITE_DOCKER_CPUS", 0.0, least=0.0, most=4096.0)
# Empties the page caches of the servers under test, where a plan asks for it: a command of the conductor's machine.
DROP_CACHES_COMMAND = env_str("BENCHSITE_DROP_CACHES_COMMAND", "")
# Settings beside those of the catalog that servers which Benchsite starts may have, as in cassandra.num_tokens.
UNCHECKED_SETTINGS = env_list("BENCHSITE_UNCHECKED_SETTINGS", [])
# Disks of a conductor's machine on which data and logs of started servers may lie: folders by name, as in ssd=/mnt/ssd.
DISKS = {name: Path(folder) for name, _, folder in (disk.partition("=") for disk in env_list("BENCHSITE_DISKS", []))}
# Own builds that teams may start on a conductor's machine: folders that hold them, apart as PATH is; how the references
# of images begin, with commas between; and a Maven repository, its address or its folder. Empty: none.
OWN_BUILD_FOLDERS = [Path(folder) for folder in env_str("BENCHSITE_OWN_BUILD_FOLDERS", "").split(os.pathsep) if folder]
OWN_BUILD_IMAGES = env_list("BENCHSITE_OWN_BUILD_IMAGES", [])
OWN_BUILD_REPOSITORY = env_str("BENCHSITE_OWN_BUILD_REPOSITORY", "")
# On a load generator: the IP address at which servers listen that it starts for the site. Empty: it starts none.
NODE_ADDRESS = env_str("BENCHSITE_NODE_ADDRESS", "")
GUARDED_DIR = VAR_DIR / "guarded"  # records of long-lived child processes
CONDUCTOR_CAPACITY = env_int("BENCHSITE_CONDUCTOR_CAPACITY", 4, least=1, most=64)  # runs at a time of one conductor
WEB_PORT = env_int("PORT", 8000, least=1, most=65535)
# /metrics answers whoever has this token; without one, only this machine, and in production nobody.
METRICS_TOKEN = env_str("BENCHSITE_METRICS_TOKEN", "")

# --- Notifications (docs/notifications.md) -----------------------------------------------------------------------
# What links in e-mail and webhooks begin with: https://bench.example.org
SITE_URL = PUBLIC_URL or (f"http://127.0.0.1:{WEB_PORT}" if EMBEDDED else f"https://{ALLOWED_HOSTS[0]}")
MAIL_SERVER = mail.mail_server(env_str("EMAIL_URL", ""))
EMAIL_BACKEND, EMAIL_HOST, EMAIL_PORT = MAIL_SERVER.backend, MAIL_SERVER.host, MAIL_SERVER.port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = MAIL_SERVER.user, MAIL_SERVER.password
EMAIL_USE_TLS, EMAIL_USE_SSL = MAIL_SERVER.starttls, MAIL_SERVER.tls
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env_str("BENCHSITE_MAIL_FROM", "benchsite@localhost")
# Networks that are not public (or told in plain http) in which webhooks may lie, and the only hosts they may name.
WEBHOOK_NETWORKS = env_networks("BENCHSITE_WEBHOOK_NETWORKS")
WEBHOOK_PORTS = env_ports("BENCHSITE_WEBHOOK_PORTS", [443])  # of public addresses
WEBHOOK_HOSTS = env_list("BENCHSITE_WEBHOOK_HOSTS", [])  # empty: any

LOG_FORMAT = env_choice("BENCHSITE_LOG_FORMAT", "plain", ["plain", "json"])
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "mask_sign_in_links": {"()": "benchsite.core.logs.MaskSignInLinks"},
        "without_traceback": {"()": "benchsite.core.logs.WithoutTraceback"},
    },
    "formatters": {
        "plain": {"format": "{asctime} {levelname:7} {name}: {message}", "style": "{"},
        "json": {"()": "benchsite.core.logs.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            "filters": ["mask_sign_in_links", "without_traceback"],
        }
    },
    "root": {"handlers": ["console"], "level": env_str("BENCHSITE_LOG_LEVEL", "INFO")},
}
