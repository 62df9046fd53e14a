"""Load generators: enrolment, clients, heartbeats, delivery of what they measured."""
