"""How fast Benchsite itself is: what its bindings, its driving of clients and its queue cost. `make bench`."""
