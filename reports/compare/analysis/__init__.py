"""What several runs say together: pure functions over frozen dataclasses, numbers with their units in the names."""
