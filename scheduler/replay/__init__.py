"""Work that arrives, placed by one policy or another, so that policies are compared by numbers."""
