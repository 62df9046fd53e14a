"""While a run is queued, its spec takes corrected names of its database and cluster, and the cluster's machines."""

from django.db import migrations

NAMES = " #- '{database,name}' #- '{cluster,name}' #- '{cluster,machines}'"
TRIGGER = """
DROP TRIGGER run_spec_is_immutable ON runs_run;
CREATE TRIGGER run_spec_is_immutable BEFORE UPDATE OF spec ON runs_run
    FOR EACH ROW WHEN (%s) EXECUTE FUNCTION runs_refuse_changed_spec();
"""
CHANGED = "OLD.spec IS DISTINCT FROM NEW.spec"
FORWARD = TRIGGER % (
    f"{CHANGED} AND (OLD.status <> 'queued' OR NEW.status <> 'queued'"
    f" OR OLD.spec{NAMES} IS DISTINCT FROM NEW.spec{NAMES})"
)


class Migration(migrations.Migration):
    dependencies = [("runs", "0065_programs_of_nodes")]

    operations = [migrations.RunSQL(FORWARD, TRIGGER % CHANGED)]
