"""What the black-box tests share: a broker in a process of its own, and a client that hides nothing."""
