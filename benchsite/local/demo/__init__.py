"""`make demo`: the quick study on this machine, its progress in the terminal, its summary as JSON."""
