"""On the path of commands that are to run as if obstore were not installed."""

raise ImportError("obstore is not installed here")
