"""What the compare page says, as plain values: its menus, its ratios, its latencies at one load. No rows are read here."""
