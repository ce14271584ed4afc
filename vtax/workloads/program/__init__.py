"""A server program of the user's own, and a client program that times it."""
