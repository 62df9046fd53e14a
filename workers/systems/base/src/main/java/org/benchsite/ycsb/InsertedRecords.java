package org.benchsite.ycsb;

import java.util.BitSet;
import java.util.concurrent.atomic.AtomicLong;

import site.ycsb.generator.AcknowledgedCounterGenerator;

/**
 * The records that a client may ask for: those that were loaded, then those that it inserted itself, the oldest first.
 *
 * <p>Insert i of client k of n has the key {@code first + n * i + k}, so no two clients insert the same one. It counts as
 * there when it and all earlier inserts of this client have ended and the database has acknowledged it. Deletes take the
 * oldest insert.
 */
final class InsertedRecords {
    private final AcknowledgedCounterGenerator sequence;
    private final long loaded;
    private final long first;
    private final long client;
    private final long clients;
    private final AtomicLong deleted = new AtomicLong();
    private final BitSet failed = new BitSet();
    private volatile boolean hasFailed;

    /** {@code sequence} counts this client's inserts from the number of loaded records. */
    InsertedRecords(AcknowledgedCounterGenerator sequence, long loaded, long first, long client, long clients) {
        this.sequence = sequence;
        this.loaded = loaded;
        this.first = first;
        this.client = client;
        this.clients = clients;
    }

    /** The key of the next insert. */
    long next() {
        return key(sequence.nextValue() - loaded);
    }

    /** The insert of a key has ended. */
    void end(long key, boolean isAcknowledged) {
        long insert = (key - first - client) / clients;
        if (!isAcknowledged) {
            synchronized (failed) {
                failed.set((int) insert);
            }
            hasFailed = true;
        }
        sequence.acknowledge(loaded + insert);
    }

    /** How many records may be asked for, those that failed among them. */
    long count() {
        return Math.max(sequence.lastValue() + 1 - deleted.get(), loaded);
    }

    /** The key of the record at a position below {@link #count}; that of the next older one where its insert failed. */
    long keyAt(long position) {
        if (position < loaded) {
            return position;
        }
        long oldest = deleted.get();
        long insert = Math.min(oldest + position - loaded, newest());
        if (hasFailed) {
            synchronized (failed) {
                insert = failed.previousClearBit((int) insert);
            }
        }
        return insert < oldest ? loaded - 1 : key(insert);
    }

    /** The key of the loaded record or of the insert with this number, behind the loaded ones; -1 where none is there. */
    long keyInSlot(long slot) {
        if (slot < loaded) {
            return slot;
        }
        long insert = slot - loaded;
        boolean isThere = insert >= deleted.get() && insert <= newest() && !isFailed(insert);
        return isThere ? key(insert) : -1;
    }

    /** The key of the oldest insert, which nobody asks for from now on; -1 where there is none. */
    long takeOldest() {
        while (true) {
            long oldest = deleted.get();
            if (oldest > newest()) {
                return -1;
            }
            if (deleted.compareAndSet(oldest, oldest + 1) && !isFailed(oldest)) {
                return key(oldest);
            }
        }
    }

    private long newest() {
        return sequence.lastValue() - loaded;
    }

    private boolean isFailed(long insert) {
        if (!hasFailed) {
            return false;
        }
        synchronized (failed) {
            return failed.get((int) insert);
        }
    }

    private long key(long insert) {
        return first + clients * insert + client;
    }
}
