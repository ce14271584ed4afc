"""Programs of the user's own: a client times a server, in a guest or through one."""
