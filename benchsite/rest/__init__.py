"""The manners of the REST API, the same for every endpoint: who asks, how often, and how a refusal is said.

authentication  bearer tokens and their scopes
limits          how often a token may ask
problems        refusals as RFC 9457 problem documents
schemas         what requests and answers share, refusals of an endpoint: `refusals(404, 409)`
paging          pages of long lists
description     the description of the whole API, OpenAPI 3.1
fallback        the same for what no endpoint answers: 404, 405, 500

What an endpoint does lies beside what it is about: `runs.api`, `reports.api`; `benchsite.api` puts them together.
"""
