# PostgreSQL with mongo_ts_fdw:
#
#   docker build -t mongo_ts_fdw --build-arg PG_MAJOR=17 .
#   docker run -e POSTGRES_PASSWORD=secret -p 5432:5432 mongo_ts_fdw
#
# Then CREATE EXTENSION mongo_ts_fdw; as for any other of the image "postgres".
# A new cluster loads the library when it starts, so that roll-ups are refreshed.

ARG PG_MAJOR=17

FROM postgres:${PG_MAJOR}-bookworm AS build
ARG PG_MAJOR
RUN apt-get update && \
    apt-get install -y --no-install-recommends \
      gcc libicu-dev libmongoc-dev make pkg-config postgresql-server-dev-${PG_MAJOR}
COPY . /src
RUN make -C /src clean && \
    make -C /src -j"$(nproc)" PG_CONFIG=/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config all && \
    make -C /src PG_CONFIG=/usr/lib/postgresql/${PG_MAJOR}/bin/pg_config DESTDIR=/out install

FROM postgres:${PG_MAJOR}-bookworm
ARG PG_MAJOR
RUN apt-get update && \
    apt-get install -y --no-install-recommends libmongoc-1.0-0 && \
    rm -rf /var/lib/apt/lists/*
COPY --from=build /out/ /
RUN echo "shared_preload_libraries = 'mongo_ts_fdw'" \
      >>/usr/share/postgresql/${PG_MAJOR}/postgresql.conf.sample
