# The image is the static program, authorities for TLS, and a user: docs/installing.md. `make image` builds the same of a program that is
# built already, without a registry.
FROM rust:1.95-slim-bookworm AS build
# npm fetches what the console and the charts of reports are made of.
RUN apt-get update && apt-get install -y --no-install-recommends binutils ca-certificates make npm && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN make static && packaging/image/rootfs target/static/warren /rootfs

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
