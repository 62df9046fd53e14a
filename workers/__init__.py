"""What makes runs happen: scheduling, load generators, servers under test."""
