"""Which measured configuration serves a stated load."""
