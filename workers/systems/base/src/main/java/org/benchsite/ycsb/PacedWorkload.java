package org.benchsite.ycsb;

import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

import site.ycsb.DB;
import site.ycsb.Workload;
import site.ycsb.WorkloadException;
import site.ycsb.measurements.Measurements;

/**
 * Offers a target on a schedule that begins with the measured window.
 *
 * <p>YCSB's own schedule begins with each thread's first operation: what a stall of the warm-up delayed is made up for
 * later, inside the window, where more than the target is then measured. Here an operation that was due before the
 * window and is late is dropped. Within the window every operation keeps its scheduled start, so a stall there is made
 * up for as YCSB does, and response times contain it.
 *
 * <p>The window begins with one of YCSB's status lines: there the intervals of all operations end. A stall delays that
 * line too, so the line itself is waited for and not the instant at which it is due: else what was due in between
 * would be made up for in a window that is shorter by as much.
 *
 * <p>YCSB's throttle stays on. It never waits longer than this one, which is behind it by what was dropped.
 */
public final class PacedWorkload extends Workload {
    /** Seconds from the end of a client's first operation to the measured window. */
    public static final String WINDOW_START = "window.start_s";
    /** Operations that are later than this are dropped inside the window too; absent: all of them are made up for. */
    public static final String CATCH_UP = "window.catch_up_ms";
    /** The class that makes the operations. */
    public static final String OPERATIONS = "window.workload";
    private static final double SECOND_NS = 1e9;

    private Workload operations;
    private double warmUpNs;
    private long catchUpNs;
    private long statusNs;
    private long tickNs;
    private boolean spins;

    private int lines;
    private long firstLineNs;
    private long firstOperationNs;
    private volatile boolean hasBegun;
    private long windowNs;
    private volatile boolean isInWindow;

    @Override
    public void init(Properties properties) throws WorkloadException {
        try {
            operations = (Workload) Class.forName(properties.getProperty(OPERATIONS)).getDeclaredConstructor()
                .newInstance();
        } catch (ReflectiveOperationException | LinkageError | ClassCastException e) {
            throw new WorkloadException(e);
        }
        operations.init(properties);
        int threads = Integer.parseInt(properties.getProperty("threadcount", "1"));
        tickNs = Math.max(1, (long) (SECOND_NS * threads / Integer.parseInt(properties.getProperty("target"))));
        warmUpNs = SECOND_NS * Integer.parseInt(properties.getProperty(WINDOW_START));
        catchUpNs = 1_000_000L * Long.parseLong(properties.getProperty(CATCH_UP, "-1"));
        statusNs = (long) SECOND_NS * Integer.parseInt(properties.getProperty("status.interval", "10"));
        spins = Boolean.parseBoolean(properties.getProperty("spin.sleep"));
        StatusLines.watch(this::endInterval);
    }

    @Override
    public Object initThread(Properties properties, int number, int threads) throws WorkloadException {
        return new Schedule(operations.initThread(properties, number, threads));
    }

    @Override
    public boolean doTransaction(DB db, Object thread) {
        Schedule schedule = (Schedule) thread;
        schedule.awaitNext();
        boolean succeeded = !isStopRequested() && operations.doTransaction(db, schedule.state);
        if (!hasBegun) {
            begin();
        }
        return succeeded;
    }

    @Override
    public boolean doInsert(DB db, Object thread) {
        throw new UnsupportedOperationException("a load has no target");
    }

    @Override
    public void cleanup() throws WorkloadException {
        operations.cleanup();
    }

    /** The first operation has ended: YCSB's logs begin here. */
    private synchronized void begin() {
        if (!hasBegun) {
            firstOperationNs = System.nanoTime();
            hasBegun = true;
            beginInterval(firstOperationNs);
        }
    }

    private synchronized void endInterval() {
        long now = System.nanoTime();
        if (lines == 0) {
            firstLineNs = now;
        }
        lines++;
        if (hasBegun) {
            beginInterval(now);
        }
    }

    /** The window begins with the first interval whose middle lies behind the warm-up. */
    private void beginInterval(long fromNs) {
        long untilNs = Math.max(firstLineNs + lines * statusNs, fromNs);
        if (!isInWindow && (fromNs - firstOperationNs + untilNs - firstOperationNs) / 2.0 >= warmUpNs) {
            windowNs = fromNs;
            isInWindow = true;
        }
    }

    /** When the operations of one thread are due. */
    private final class Schedule {
        private final Object state;
        private final Measurements measurements = Measurements.getMeasurements();
        private long dueNs;
        private boolean began;

        Schedule(Object state) {
            this.state = state;
        }

        void awaitNext() {
            long now = System.nanoTime();
            if (!began) {
                began = true;
                dueNs = now + ThreadLocalRandom.current().nextLong(tickNs);
            }
            long lateNs = (isInWindow ? windowNs : now) - dueNs;
            dueNs += Math.max(lateNs, 0);
            if (catchUpNs >= 0) {
                dueNs = Math.max(dueNs, now - catchUpNs);
            }
            while (dueNs - System.nanoTime() > 0) {
                if (spins) {
                    Thread.onSpinWait();
                } else {
                    LockSupport.parkNanos(dueNs - System.nanoTime());
                }
            }
            measurements.setIntendedStartTimeNs(dueNs);
            dueNs += tickNs;
        }
    }
}
