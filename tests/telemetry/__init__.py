"""The wire to Prometheus: against a player of its API, and against the real one where it is installed."""
