"""Errors in what a user gave."""


class InputError(Exception):
    """What a user gave cannot be used: str() says what is wrong and what to do. The exit status is 2."""
