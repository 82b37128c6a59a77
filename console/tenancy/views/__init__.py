"""Pages of people and of tenants."""
