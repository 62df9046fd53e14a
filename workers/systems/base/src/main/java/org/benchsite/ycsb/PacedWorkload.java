package org.benchsite.ycsb;

import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
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
 * <p>YCSB's throttle stays on. It never waits longer than this one, which is behind it by what was dropped.
 */
public final class PacedWorkload extends Workload {
    /** Seconds from a client's first operation to the measured window. */
    public static final String WINDOW_START = "window.start_s";
    /** The class that makes the operations. */
    public static final String OPERATIONS = "window.workload";
    private static final double SECOND_NS = 1e9;

    private final AtomicLong windowStart = new AtomicLong();
    private Workload operations;
    private double warmUpNs;
    private double statusNs;
    private long tickNs;
    private boolean spins;
    private long initNs;

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
        statusNs = SECOND_NS * Integer.parseInt(properties.getProperty("status.interval", "10"));
        spins = Boolean.parseBoolean(properties.getProperty("spin.sleep"));
        initNs = System.nanoTime();
    }

    @Override
    public Object initThread(Properties properties, int number, int threads) throws WorkloadException {
        return new Schedule(operations.initThread(properties, number, threads));
    }

    @Override
    public boolean doTransaction(DB db, Object thread) {
        Schedule schedule = (Schedule) thread;
        schedule.awaitNext();
        return !isStopRequested() && operations.doTransaction(db, schedule.state);
    }

    @Override
    public boolean doInsert(DB db, Object thread) {
        throw new UnsupportedOperationException("a load has no target");
    }

    @Override
    public void cleanup() throws WorkloadException {
        operations.cleanup();
    }

    /**
     * When the window begins. YCSB logs its intervals from status line to status line, counted from about the end of
     * {@link #init}, and the window begins with the first one whose middle is behind the warm-up.
     */
    private long windowStart(long firstNs) {
        if (windowStart.get() == 0) {
            double lines = Math.ceil((firstNs - initNs + warmUpNs) / statusNs - 0.5);
            windowStart.compareAndSet(0, initNs + (long) (Math.max(lines, 0) * statusNs));
        }
        return windowStart.get();
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
            long start = windowStart(now);
            long lateNs = (now - start < 0 ? now : start) - dueNs;
            dueNs += Math.max(lateNs, 0);
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
