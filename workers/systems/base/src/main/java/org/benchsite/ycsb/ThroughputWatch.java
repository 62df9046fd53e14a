package org.benchsite.ycsb;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** Counts the operations of this process, and how often fewer than a number of them were done in a second. */
final class ThroughputWatch {
    static final ThroughputWatch SHARED = new ThroughputWatch();
    private static final long SECOND_NS = 1_000_000_000L;

    private final LongAdder operations = new LongAdder();
    private final AtomicLong beganNs = new AtomicLong(System.nanoTime());
    /** Of whichever thread has just moved `beganNs` on. */
    private long before;
    private volatile int falls;

    /** Counts an operation that begins. Answers how many seconds so far had fewer operations than `opsPerSecond`. */
    int count(int opsPerSecond) {
        operations.increment();
        long now = System.nanoTime();
        long began = beganNs.get();
        long elapsed = now - began;
        if (elapsed >= SECOND_NS && beganNs.compareAndSet(began, now)) {
            long sum = operations.sum();
            if ((double) (sum - before) * SECOND_NS / elapsed < opsPerSecond) {
                falls = falls + 1;
            }
            before = sum;
        }
        return falls;
    }
}
