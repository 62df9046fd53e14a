"""What the pages of matrices show, as plain values."""
