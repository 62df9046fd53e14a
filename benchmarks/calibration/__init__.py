"""`make calibrate`: the error of Benchsite's own measurements on this host, against a server that is known."""
