"""Pages of spot capacity."""
