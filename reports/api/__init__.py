"""REST endpoints about what runs mean. Each module adds its endpoints to a router of `reports.api.routers`."""
