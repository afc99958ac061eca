//! An AMQP 0-9-1 client made for throughput: for the load generator, the proxy's upstream side, shovels and tests.
