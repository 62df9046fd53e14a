"""The published studies run small: each by its own plan, on servers that one machine can start."""
