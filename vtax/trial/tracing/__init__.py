"""Trials whose packets are followed through the hosts."""
