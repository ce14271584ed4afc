"""What the commands print, beside what they printed before; `make snapshots` accepts what has changed."""
