"""What is benchmarked, and what happened."""
