"""What exporters measure of devices, laid over the records of a cluster.  Pure: the wire is elsewhere."""
