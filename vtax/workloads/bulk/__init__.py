"""Streams as fast as they go: guests that share a link, or two ends of one (anhalt2009, oljira2016)."""
