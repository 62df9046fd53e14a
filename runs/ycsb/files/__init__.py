"""Files as people have them, packed and encoded in any way, made into blocks of lines. Nothing is written to disk by
a name that a file brought along, and a file costs no more than `limits` allows."""

from runs.ycsb.files.decoding import Member, open_members
