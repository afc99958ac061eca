#!/bin/sh
# As RabbitMQ's image: what is said is run. rabbitmq-server goes on as the user rabbitmq by itself, and reads variables and their files.
set -e

case "${1:-}" in
'' | -*) set -- rabbitmq-server "$@" ;;
esac
exec "$@"
