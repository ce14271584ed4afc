"""Requests: one end asks, a guest answers, and response times are taken."""
