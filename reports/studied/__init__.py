"""What the pages say about the published studies: tables, recomputed numbers and pictures of what was printed. Pure."""

from reports.studied.buckets import Bucket, bucket_of, buckets_of
from reports.studied.charts import PrintedFigure, pictures_of
from reports.studied.checks import Check, checks_of
from reports.studied.facts import FactFilter, facts_table
from reports.studied.tables import StudyTable, tables_of
