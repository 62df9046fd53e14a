"""Bringing up servers under test: provisioners, administration of what runs, reading modes back, probing disks.

Imports nothing: the small process that asks servers of others needs one module of it.
"""
