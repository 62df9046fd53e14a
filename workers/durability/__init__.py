"""Measured durability: storage that forgets unsynced writes, a ledger of acknowledged ones, and what is lost."""
