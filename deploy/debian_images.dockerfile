# Targets of deploy/debian_images: Debian's packages with the accounts, folders and entry points that the official images
# document, as far as docker-compose.yml and the Dockerfile use them.

FROM debian:bookworm AS python
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && ln -s /usr/bin/python3 /usr/local/bin/python
CMD ["python"]

# POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB are used while the folder of the data is empty.
FROM debian:trixie AS postgres
RUN groupadd --gid 999 postgres \
    && useradd --uid 999 --gid 999 --home-dir /var/lib/postgresql postgres \
    && mkdir -p /etc/postgresql-common \
    && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf \
    && apt-get update \
    && apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold postgresql-17 \
    && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner=999 --group=999 --mode=0700 /var/lib/postgresql/data
ENV PATH=/usr/lib/postgresql/17/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PGDATA=/var/lib/postgresql/data LANG=C.UTF-8
COPY debian_postgres_entrypoint /usr/local/bin/docker-entrypoint.sh
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]

FROM debian:bookworm AS redis
RUN groupadd --gid 999 redis \
    && useradd --uid 999 --gid 999 --home-dir /data redis \
    && apt-get update \
    && apt-get install -y --no-install-recommends redis-server \
    && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner=999 --group=999 /data
WORKDIR /data
VOLUME /data
EXPOSE 6379
CMD ["redis-server"]
