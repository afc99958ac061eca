FROM rust:1.95-slim-bookworm AS build
# npm fetches what the console and the charts of reports are made of.
RUN apt-get update && apt-get install -y --no-install-recommends make npm && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN make build

FROM debian:bookworm-slim
RUN useradd --system --home-dir /var/lib/warren --create-home warren
COPY --from=build /src/target/release/warren /usr/bin/warren
USER warren
VOLUME /var/lib/warren
EXPOSE 5672 5671 15672 15692
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/warren"]
# guest may log in over loopback only; set RABBITMQ_DEFAULT_USER and RABBITMQ_DEFAULT_PASS for clients outside.
# No configuration file is read unless RABBITMQ_CONFIG_FILE names one.
CMD ["serve", "--data-dir", "/var/lib/warren/data"]
