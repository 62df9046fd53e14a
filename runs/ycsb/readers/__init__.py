"""Readers: one module for each format in which YCSB and its relatives ever printed results, a detector in front."""

from runs.ycsb.readers.file_reader import read_file
