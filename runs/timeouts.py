"""The table of time-outs: how often each part gives a sign of life, and after which silence it counts as lost. Pure."""

from datetime import timedelta

# Of conductors, clients, load generators and readers of uploads. Each limit below is several of these intervals.
HEARTBEAT_INTERVAL_S = 5.0
# Scheduling waits for a load generator that is silent; nothing is lost by that, so the limit is short.
GENERATOR_SILENT_AFTER = timedelta(seconds=20)
# A conductor that is silent gets no further run; its claims have the limit of runs.
CONDUCTOR_SILENT_AFTER = timedelta(seconds=30)
# A network that is cut for half a minute must not end the runs behind it.
CLIENT_SILENT_AFTER = timedelta(seconds=45)
# The longest, since the claim of a run goes to nobody else before: its conductor may only wait for PostgreSQL.
RUN_SILENT_AFTER = timedelta(seconds=60)
# The reader of an upload is stopped while a run measures, but its conductor beats for it.
UPLOAD_SILENT_AFTER = timedelta(seconds=60)
# A message to a load generator is repeated every 3 s, so one that does not take its client is lost.
CLIENT_UNCLAIMED_AFTER = timedelta(seconds=15)
# A dispatched run that no conductor claims goes back to the queue.
RUN_UNCLAIMED_AFTER = timedelta(seconds=30)
