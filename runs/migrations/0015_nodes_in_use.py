"""The nodes of a cluster do not change while a run uses it: the run's leases are on the machines of these nodes.

The row of the cluster is locked, so that no run starts there between the check and the change.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION runs_refuse_nodes_in_use() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM runs_cluster WHERE id IN (OLD.cluster_id, NEW.cluster_id) FOR NO KEY UPDATE;
    IF EXISTS (SELECT 1 FROM runs_run
               WHERE cluster_id IN (OLD.cluster_id, NEW.cluster_id) AND status IN ('dispatched', 'running')) THEN
        RAISE EXCEPTION 'a run uses this cluster: its nodes cannot change until the run has ended'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN COALESCE(NEW, OLD);
END $$;
CREATE TRIGGER node_in_use_is_immutable
    BEFORE INSERT OR DELETE OR UPDATE OF cluster_id, machine_id, address, position ON runs_node
    FOR EACH ROW EXECUTE FUNCTION runs_refuse_nodes_in_use();
"""
BACKWARD = "DROP TRIGGER node_in_use_is_immutable ON runs_node; DROP FUNCTION runs_refuse_nodes_in_use();"


class Migration(migrations.Migration):
    dependencies = [("runs", "0014_client_output_stored_at")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
