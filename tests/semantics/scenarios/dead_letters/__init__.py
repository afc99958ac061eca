"""Where messages go that a queue gives up, and what is written on them."""
