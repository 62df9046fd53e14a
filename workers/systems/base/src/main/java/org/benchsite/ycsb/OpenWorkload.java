package org.benchsite.ycsb;

import java.util.Properties;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import site.ycsb.DB;
import site.ycsb.Workload;
import site.ycsb.WorkloadException;
import site.ycsb.measurements.Measurements;

/**
 * Offers operations that do not wait for each other: they arrive at a rate, whatever the database does.
 *
 * <p>All threads of a client share one schedule, under a lock. A free thread takes the next arrival, waits until it is
 * due, and begins it; its intended start is when it was due. While all threads are busy arrivals wait. One that is taken
 * later than the patience allows is dropped: it is counted, never begun, and in no latency.
 *
 * <p>Each free thread waits for an arrival of its own, without the lock: arrivals are taken in the order in which they
 * are due, so none could begin earlier with another thread, and no thread has to wake the next one.
 *
 * <p>YCSB measures service time (from the begin) and response time (from when the operation was due). Measured beside
 * them are {@link #START_LAG}, from due to begin of every operation, and {@link #CLIENT_LAG}, by how much arrivals were
 * taken late that were due while a thread was free, dropped ones included: all of that is the client's own lateness.
 */
public final class OpenWorkload extends Workload {
    /** Operations per second of this client, at 100 % of the profile. */
    public static final String RATE = "open.rate";
    /** {@code poisson} or {@code constant}. */
    static final String ARRIVALS = "open.arrivals";
    /** Milliseconds, or {@code never}. */
    static final String PATIENCE = "open.patience_ms";
    /** Where the constant arrivals of this client lie between two of its own, in [0, 1). */
    static final String SHIFT = "open.shift";
    static final String SEED = "open.seed";
    /** {@code second:percent,...}, from the begin of the measured window; absent: 100 % all the time. */
    static final String PROFILE = "open.profile";
    /** The file of what arrived in each second. */
    static final String OUTPUT = "open.output";

    static final String START_LAG = "START-LAG";
    static final String CLIENT_LAG = "CLIENT-LAG";
    private static final double SECOND_NS = 1e9;
    private static final long NEVER = Long.MAX_VALUE;
    private static final long MAX_CONNECTING_S = 10;

    private final AtomicInteger free = new AtomicInteger();
    private final ThreadLocal<Boolean> isConnected = ThreadLocal.withInitial(() -> false);
    private final Queue<Thread> threads = new ConcurrentLinkedQueue<>();
    private CountDownLatch connecting;
    private volatile long allBusyUntilNs = Long.MIN_VALUE;
    private OperationWorkload operations;
    private ArrivalSchedule schedule;
    private ArrivalCounts counts;
    private long patienceNs;
    private boolean spins;
    private long beganNs;
    private boolean hasBegun;

    @Override
    public void init(Properties properties) throws WorkloadException {
        operations = BenchsiteWorkload.isNeeded(properties) ? new BenchsiteWorkload() : new OperationWorkload();
        operations.init(properties);
        double warmUpS = Double.parseDouble(properties.getProperty(PacedWorkload.WINDOW_START, "0"));
        schedule = new ArrivalSchedule(
            Double.parseDouble(properties.getProperty(RATE)),
            "poisson".equals(properties.getProperty(ARRIVALS, "poisson")),
            Double.parseDouble(properties.getProperty(SHIFT, "0")),
            Long.parseLong(properties.getProperty(SEED, "1")),
            Profile.parse(properties.getProperty(PROFILE, ""), warmUpS));
        String patience = properties.getProperty(PATIENCE, "1");
        patienceNs = "never".equals(patience) ? NEVER : (long) (Double.parseDouble(patience) * 1e6);
        spins = Boolean.parseBoolean(properties.getProperty("spin.sleep"));
        counts = new ArrivalCounts(properties.getProperty(OUTPUT));
        connecting = new CountDownLatch(Integer.parseInt(properties.getProperty("threadcount", "1")));
    }

    @Override
    public Object initThread(Properties properties, int number, int threads) throws WorkloadException {
        return operations.initThread(properties, number, threads);
    }

    @Override
    public boolean doTransaction(DB db, Object state) {
        if (!isConnected.get()) {
            awaitOthers();
        }
        if (free.getAndIncrement() == 0) {
            allBusyUntilNs = System.nanoTime();
        }
        Arrival arrival = awaitArrival();
        free.decrementAndGet();
        if (arrival == null) {
            return false;
        }
        operations.execute(db, arrival.operation);
        return true;
    }

    @Override
    public void requestStop() {
        if (!isStopRequested()) {
            super.requestStop();
            dropOverdue();
        }
        threads.forEach(LockSupport::unpark);
    }

    /** What was due and waited for a thread until the client stopped is counted: else an overload would not show. */
    private synchronized void dropOverdue() {
        if (!hasBegun) {
            return;
        }
        long beforeNs = System.nanoTime() - (patienceNs == NEVER ? 0 : patienceNs);
        schedule.advance();
        while (dueNs() < beforeNs) {
            counts.add(operations.chooseOperation(), dueNs(), true, schedule.gap());
            schedule.advance();
        }
    }

    /** When the arrival of the schedule is due; {@link #NEVER} where none arrives any more. */
    private long dueNs() {
        double dueS = schedule.dueS();
        return dueS < Double.POSITIVE_INFINITY ? beganNs + (long) (dueS * SECOND_NS) : NEVER;
    }

    /** Nothing arrives before all threads have connected, or so long after the first that one of them may have failed. */
    private void awaitOthers() {
        isConnected.set(true);
        threads.add(Thread.currentThread());
        connecting.countDown();
        try {
            connecting.await(MAX_CONNECTING_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for the next arrival that is not dropped; null where the client stops. */
    private Arrival awaitArrival() {
        Arrival arrival = takeArrival();
        while (arrival != null && arrival.isDropped) {
            count(arrival);
            arrival = takeArrival();
        }
        if (arrival == null || !await(arrival.dueNs)) {
            return null;
        }
        count(arrival);
        return arrival;
    }

    /** The next arrival, which may not be due yet; null where the client stops or nothing arrives any more. */
    private Arrival takeArrival() {
        Arrival arrival = drawArrival();
        if (arrival == null) {
            await(Long.MAX_VALUE / 2);
        }
        return arrival;
    }

    private synchronized Arrival drawArrival() {
        if (!hasBegun) {
            hasBegun = true;
            beganNs = System.nanoTime();
            allBusyUntilNs = beganNs;
            counts.begin(beganNs);
        }
        if (isStopRequested()) {
            return null;
        }
        schedule.advance();
        long dueNs = dueNs();
        if (dueNs == NEVER) {
            return null;
        }
        // Taken before it is due it is not dropped, however late the thread wakes up.
        boolean isDropped = System.nanoTime() - dueNs > patienceNs;
        return new Arrival(operations.chooseOperation(), dueNs, isDropped, schedule.gap());
    }

    private void count(Arrival arrival) {
        counts.add(arrival.operation, arrival.dueNs, arrival.isDropped, arrival.gap);
        measureLag(arrival.dueNs, System.nanoTime() - arrival.dueNs, arrival.isDropped);
    }

    private void measureLag(long dueNs, long lateNs, boolean isDropped) {
        Measurements measurements = Measurements.getMeasurements();
        int lateUs = (int) Math.min(lateNs / 1000, Integer.MAX_VALUE);
        if (dueNs >= allBusyUntilNs) {
            measurements.measure(CLIENT_LAG, lateUs);
        }
        if (!isDropped) {
            measurements.measure(START_LAG, lateUs);
            measurements.setIntendedStartTimeNs(dueNs);
        }
    }

    /** Returns when an arrival is due; false where the client stops before. */
    private boolean await(long dueNs) {
        long left = dueNs - System.nanoTime();
        while (left > 0) {
            if (isStopRequested()) {
                return false;
            }
            if (spins) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(left);
            }
            left = dueNs - System.nanoTime();
        }
        return true;
    }

    @Override
    public boolean doInsert(DB db, Object state) {
        throw new UnsupportedOperationException("a load is not offered at a rate");
    }

    @Override
    public void cleanup() throws WorkloadException {
        counts.end();
        operations.cleanup();
    }

    /** One operation that is to be done. */
    private static final class Arrival {
        private final String operation;
        private final long dueNs;
        private final boolean isDropped;
        private final double gap;

        Arrival(String operation, long dueNs, boolean isDropped, double gap) {
            this.operation = operation;
            this.dueNs = dueNs;
            this.isDropped = isDropped;
            this.gap = gap;
        }
    }
}
