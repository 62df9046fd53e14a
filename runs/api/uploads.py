"""Runs that programs bring along: POST /runs, PUT /runs/by-key/{key}, POST /runs:batch."""
