"""The routers that the modules of this package add endpoints to: one for each resource, so that a path has one home."""

from ninja import Router

verdicts = Router(tags=["Verdicts"])
baselines = Router(tags=["Baselines"])
reports = Router(tags=["Reports"])
badges = Router(tags=["Badges"])
