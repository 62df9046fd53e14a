package org.benchsite.ycsb;

import site.ycsb.DB;
import site.ycsb.workloads.CoreWorkload;

/**
 * A load that goes on after a failed insert.
 *
 * <p>In YCSB the first failed insert ends its thread. The failures stay failures here: they are counted and measured as
 * INSERT-FAILED, only the thread continues with the next record.
 */
public final class IgnoringWorkload extends CoreWorkload {
    public static final String PROPERTY = "benchsite.ignore_insert_errors";

    @Override
    public boolean doInsert(DB db, Object threadState) {
        super.doInsert(db, threadState);
        return true;
    }
}
