"""Quorum queues: how they are declared, and how often a message comes."""
