"""A Kubernetes API server of ours for tests: lists, watches and faults, on loopback."""
