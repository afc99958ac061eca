# Two images, docs/installing.md: the static program, authorities for TLS and a user; and, with `--target rabbitmq`, the same by the names of
# RabbitMQ's programs, with its directories and a small shell. `make image` and `make image-rabbitmq` build them of a program that is built
# already, without a registry.
FROM rust:1.95-slim-bookworm AS build
# npm fetches what the console and the charts of reports are made of.
RUN apt-get update && apt-get install -y --no-install-recommends binutils ca-certificates make npm && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN make static && packaging/image/rootfs target/static/warren /rootfs

FROM build AS rabbitmq-build
RUN apt-get update && apt-get install -y --no-install-recommends busybox-static curl && rm -rf /var/lib/apt/lists/*
RUN packaging/image/rabbitmq-rootfs target/static/warren /rootfs-rabbitmq

FROM scratch AS rabbitmq
LABEL org.opencontainers.image.title="Warren by RabbitMQ's names" \
    org.opencontainers.image.description="Warren with the programs, directories and variables of RabbitMQ's image" \
    org.opencontainers.image.licenses="Apache-2.0"
COPY --from=rabbitmq-build /rootfs-rabbitmq/system/ /
COPY --from=rabbitmq-build --chown=999:999 /rootfs-rabbitmq/data/ /var/lib/rabbitmq/
COPY --from=rabbitmq-build --chown=999:999 /rootfs-rabbitmq/etc/ /etc/rabbitmq/
ENV PATH=/opt/rabbitmq/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/var/lib/rabbitmq \
    RABBITMQ_DATA_DIR=/var/lib/rabbitmq RABBITMQ_LOGS=- LANG=C.UTF-8
WORKDIR /
VOLUME /var/lib/rabbitmq
EXPOSE 5672 5671 15672 15671 15692 25672
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["rabbitmq-diagnostics", "-q", "check_running"]
# It begins as root, gives /var/lib/rabbitmq to the user rabbitmq and goes on as that; with another user (--user) it goes on as it is.
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["rabbitmq-server"]

FROM scratch
LABEL org.opencontainers.image.title="Warren" \
    org.opencontainers.image.description="A message broker that RabbitMQ's clients cannot tell from RabbitMQ" \
    org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /rootfs/system/ /
COPY --from=build --chown=999:999 /rootfs/data/ /var/lib/warren/
ENV PATH=/usr/bin RABBITMQ_CONFIG_FILE=/etc/warren/warren.conf WARREN_CTL_URL=unix:/var/lib/warren/data/control.sock
# By number: Kubernetes looks whether it is root.
USER 999:999
WORKDIR /var/lib/warren
VOLUME /var/lib/warren
# AMQP, with TLS, the HTTP API and the console, with TLS, metrics; 25672 between nodes of a cluster.
EXPOSE 5672 5671 15672 15671 15692 25672
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["/usr/bin/warren", "ctl", "check_running"]
ENTRYPOINT ["/usr/bin/warren"]
# guest may log in over loopback only; set RABBITMQ_DEFAULT_USER and RABBITMQ_DEFAULT_PASS for clients outside.
CMD ["serve", "--data-dir", "/var/lib/warren/data"]
