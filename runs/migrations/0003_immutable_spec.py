"""A run's spec is what was submitted: the database itself refuses to change it."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION runs_refuse_changed_spec() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the spec of run % is immutable', OLD.id USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER run_spec_is_immutable BEFORE UPDATE OF spec ON runs_run
    FOR EACH ROW WHEN (OLD.spec IS DISTINCT FROM NEW.spec) EXECUTE FUNCTION runs_refuse_changed_spec();
"""
BACKWARD = "DROP TRIGGER run_spec_is_immutable ON runs_run; DROP FUNCTION runs_refuse_changed_spec();"


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_initial")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
