"""What the pages of runs show, as plain values."""
