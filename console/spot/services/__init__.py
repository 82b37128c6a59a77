"""Every write to leases: one transaction each, permission asked, audit recorded, event published."""
