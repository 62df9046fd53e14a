"""The manners of the REST API, the same for every endpoint: who asks, how often, and how a refusal is said.

authentication  bearer tokens and their scopes
problems        refusals as RFC 9457 problem documents
fallback        the same for what no endpoint answers: 404, 405, 500

What an endpoint does lies beside what it is about: `runs.api`, `reports.api`; `benchsite.api` puts them together.
"""
