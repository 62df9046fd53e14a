"""What a plan names - machines, clusters, databases, workloads - as programs and plan files state it.

specs            the fields of each kind
kinds            each kind's rows as definitions, and definitions as rows, by the forms of the pages
definition_file  a plan file that defines what it names
apply            such a file applied: what differs is changed, or all of it is refused
api              the endpoints
"""
