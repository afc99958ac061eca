"""Exchange types beside AMQP's four, and what declaring and binding them is refused for."""
