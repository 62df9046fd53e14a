"""What the pages of the queue show, as plain values."""
