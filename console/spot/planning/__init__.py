"""The only callers of the planners of spot capacity; only workers import them."""
