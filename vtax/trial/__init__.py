"""What all trials share: their template, what is observed and judged, the traffic that several kinds have."""
