"""Everything that reads; the viewer comes first and decides what is seen."""
