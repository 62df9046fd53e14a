"""Programs that end with whoever started them."""
