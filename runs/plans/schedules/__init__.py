"""Matrices that are repeated at times: when, how they are kept, and what happens when a time has come."""
