"""What the pages say about the published studies: tables, recomputed numbers and pictures of what was printed. Pure."""

from reports.studied.charts import PrintedFigure, pictures_of
from reports.studied.checks import Bucket, Check, bucket_of, buckets_of, checks_of
from reports.studied.tables import FactFilter, StudyTable, facts_table, tables_of
