"""Ends that talk to each other over a transport: streams of data, requests and answers."""
