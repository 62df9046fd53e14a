"""Addresses of the pages of `workers`."""

from django.urls import URLPattern, URLResolver, path

from workers import views
from workers.generator import generator_api
from workers.probe import views as probe

CLIENT = "generator-api/v1/clients/<uuid:pk>"

urlpatterns: list[URLPattern | URLResolver] = [
    path("generator-api/v1/enrol", generator_api.enrol),
    path("generator-api/v1/register", generator_api.register),
    path("generator-api/v1/presence", generator_api.presence),
    path("generator-api/v1/calibration", generator_api.calibration),
    path("generator-api/v1/nodes", generator_api.nodes),
    path("generator-api/v1/clock", generator_api.clock),
    path(f"{CLIENT}/claim", generator_api.claim),
    path(f"{CLIENT}/report", generator_api.report),
    path(f"{CLIENT}/stopped", generator_api.stopped),
    path(f"{CLIENT}/files/<slug:kind>/<str:file_name>", generator_api.file),
    path(f"{CLIENT}/complete", generator_api.complete),
    path(f"{CLIENT}/fail", generator_api.fail),
    path("generator-api/v1/checks/<uuid:pk>/claim", generator_api.claim_check),
    path("generator-api/v1/checks/<uuid:pk>/complete", generator_api.complete_check),
    path("load-generators/", views.load_generators, name="load-generators"),
    path("load-generators/enrolment/", views.enrolment, name="load-generator-enrolment"),
    path("load-generators/release/", views.release_load_generator, name="load-generator-release"),
    path("load-generators/calibrate/", views.calibrate, name="load-generator-calibrate"),
    path("load-generators/allow-move/", views.allow_move, name="load-generator-allow-move"),
    path("own-server/", probe.own_server, name="own-server"),
    path("own-server/checks/<uuid:check>/", probe.server_check, name="server-check"),
    path("own-server/<uuid:pk>/", probe.own_server_first, name="own-server-first"),
    path("queue/", views.queue, name="queue"),
]
