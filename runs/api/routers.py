"""The routers that the modules of this package add endpoints to: one for each resource, so that a path has one home."""

from ninja import Router

runs = Router(tags=["Runs"])
matrices = Router(tags=["Matrices"])
schedules = Router(tags=["Schedules"])
catalog = Router(tags=["Catalog"])
definitions = Router(tags=["Definitions"])
