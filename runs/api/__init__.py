"""REST endpoints about plans and runs. Each module adds its endpoints to a router of `runs.api.routers`."""
