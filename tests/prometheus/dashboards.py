"""What RabbitMQ's official Grafana dashboards ask for, by dashboard, and how."""

JOIN = '* on(instance, job) group_left(rabbitmq_cluster, rabbitmq_node) rabbitmq_identity_info{{rabbitmq_cluster="{cluster}", namespace="{namespace}", rabbitmq_endpoint="{endpoint}"}}'

# The panel of sizes matches these as text.
SIZE_BOUNDS = ("100.0", "1000.0", "10000.0", "100000.0", "1e+06", "1e+07", "5e+07", "1e+08", "+Inf")

OVERVIEW = """
rabbitmq_build_info rabbitmq_channels rabbitmq_channels_closed_total rabbitmq_channels_opened_total rabbitmq_connections
rabbitmq_connections_closed_total rabbitmq_connections_opened_total rabbitmq_disk_space_available_bytes
rabbitmq_disk_space_available_limit_bytes rabbitmq_erlang_uptime_seconds rabbitmq_global_consumers
rabbitmq_global_messages_acknowledged_total rabbitmq_global_messages_confirmed_total
rabbitmq_global_messages_delivered_consume_auto_ack_total rabbitmq_global_messages_delivered_consume_manual_ack_total
rabbitmq_global_messages_delivered_get_auto_ack_total rabbitmq_global_messages_delivered_get_manual_ack_total
rabbitmq_global_messages_delivered_total rabbitmq_global_messages_get_empty_total rabbitmq_global_messages_received_confirm_total
rabbitmq_global_messages_received_total rabbitmq_global_messages_redelivered_total rabbitmq_global_messages_routed_total
rabbitmq_global_messages_unroutable_dropped_total rabbitmq_global_messages_unroutable_returned_total rabbitmq_global_publishers
rabbitmq_identity_info rabbitmq_message_size_bytes_bucket rabbitmq_message_size_bytes_count rabbitmq_message_size_bytes_sum
rabbitmq_process_max_fds rabbitmq_process_open_fds rabbitmq_process_resident_memory_bytes rabbitmq_queue_messages_ready
rabbitmq_queue_messages_unacked rabbitmq_queues rabbitmq_queues_created_total rabbitmq_queues_declared_total
rabbitmq_queues_deleted_total rabbitmq_resident_memory_limit_bytes
""".split()

# Of those about Erlang only what has a meaning without it.
ERLANG = ["erlang_vm_process_count", "erlang_vm_process_limit"]

ABSENT = {
    "RabbitMQ-Quorum-Queues-Raft": ("rabbitmq_raft_", "a node alone has no Raft"),
    "RabbitMQ-Stream": ("rabbitmq_global_stream_error_", "there are no streams"),
    "Erlang-Distribution": ("erlang_vm_dist_", "there is no Erlang, and one node"),
    "Erlang-Memory-Allocators": ("erlang_vm_allocators", "there is no Erlang"),
}
