package org.benchsite.ycsb;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

import site.ycsb.DB;
import site.ycsb.workloads.CoreWorkload;

/** Its first operation inserts and updates the record that all others, which wait for that, read. */
public final class CheckWorkload extends CoreWorkload {
    private final AtomicBoolean begun = new AtomicBoolean();
    private final CountDownLatch ended = new CountDownLatch(1);

    @Override
    public boolean doTransaction(DB db, Object threadState) {
        if (begun.compareAndSet(false, true)) {
            try {
                boolean isInserted = doInsert(db, threadState);
                doTransactionUpdate(db);
                return isInserted;
            } finally {
                ended.countDown();
            }
        }
        try {
            ended.await();
        } catch (InterruptedException e) {
            return false;
        }
        return super.doTransaction(db, threadState);
    }
}
