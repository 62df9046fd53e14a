"""What the compare page says, as plain values: its menus, ratios, and latencies at one load. Reads no rows."""
