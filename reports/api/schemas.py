"""What the API takes and says of baselines."""

from datetime import datetime
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict, Field

from benchsite.rest.schemas import RequestSchema


class BaselineAnswer(Schema):
    """A name for runs that others are judged against. The runs it pins cannot be deleted."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "release-1.2",
                    "runs": ["0197f9d4-8a52-7c31-9d4e-1f6a3f1b2c4d"],
                    "tests": 1,
                    "rule": "The counted runs of commit 3f2a91c.",
                    "thresholds": {"READ p99": 0.2},
                    "set_by": "ci",
                    "set_at": "2026-03-01T12:00:00Z",
                }
            ]
        }
    )

    name: str
    runs: list[UUID]
    tests: int = Field(description="How many different tests the runs are of.")
    rule: str = Field(description="How the runs were chosen.")
    thresholds: dict[str, float] = Field(description="Practical thresholds as shares, by metric or statistic.")
    set_by: str
    set_at: datetime


class BaselineList(Schema):
    """All baselines of the team, by name."""

    items: list[BaselineAnswer]
    default_rule: str = Field(description="What a run is judged against where no baseline is named.")


class BaselineChange(RequestSchema):
    """What the name is to stand for: these runs, or the runs of a commit that count."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"commit": "3f2a91c"}, {"runs": ["0197f9d4-8a52-7c31-9d4e-1f6a3f1b2c4d"]}]},
    )

    runs: list[UUID] | None = Field(None, min_length=1, max_length=500)
    commit: str | None = Field(None, min_length=4, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")
    thresholds: dict[str, float] | None = Field(
        None, description="Shares, such as 0.05; by `throughput`, `mean`, `p99`, or of one operation, `READ p99`."
    )
