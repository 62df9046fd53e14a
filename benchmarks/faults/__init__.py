"""Fault injection (`make faults`): a real one-machine site, one real fault per try, and a count of what it cost."""
