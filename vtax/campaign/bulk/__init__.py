"""Bulk: guests are end hosts that send to, or receive from, a peer of their own outside the host."""
