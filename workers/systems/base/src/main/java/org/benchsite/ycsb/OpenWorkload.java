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
    /** Seconds: of clients that begin together a late one begins later by a multiple of it; absent: each begins at once. */
    static final String BEGIN_EVERY = "open.begin_every_s";
    /** The agreed instant, in epoch milliseconds. */
    public static final String INSTANT = "open.instant_ms";
    /** {@code second:percent,...}, from the begin of the measured window; absent: 100 % all the time. */
    static final String PROFILE = "open.profile";
    /** The file of what arrived in each second. */
    static final String OUTPUT = "open.output";

    static final String START_LAG = "START-LAG";
    static final String CLIENT_LAG = "CLIENT-LAG";
    private static final double SECOND_NS = 1e9;
    private static final long NEVER = Long.MAX_VALUE;
    private static final long MAX_CONNECTING_S = 10;
    /** Behind the agreed instant: until then most clients have connected. */
    private static final long CONNECTED_NS = 250_000_000;
    /** So much of a core may be spent on waiting awake, which begins operations on time where few arrive. */
    private static final double AWAKE_SHARE = 0.005;
    private static final long MAX_AWAKE_NS = 100_000;
    private static final long STEP_NS = 200;
    private static final long MAX_OVERSLEPT_NS = 50_000;

    private final AtomicInteger free = new AtomicInteger();
    private final Queue<Thread> threads = new ConcurrentLinkedQueue<>();
    private CountDownLatch connecting;
    private volatile long allBusyUntilNs = Long.MIN_VALUE;
    /** Sleeps end later than they should by at least so much, but for one of fifty. Threads may lose each other's steps. */
    private volatile long oversleptNs;
    private OperationWorkload operations;
    private ArrivalSchedule schedule;
    private ArrivalCounts counts;
    private LatencyLog startLag;
    private LatencyLog clientLag;
    private long awakeNs;
    private long patienceNs;
    private boolean spins;
    private long instantMs;
    private long beginEveryNs;
    private long beganNs;
    private boolean hasBegun;

    @Override
    public void init(Properties properties) throws WorkloadException {
        operations = BenchsiteWorkload.isNeeded(properties) ? new BenchsiteWorkload() : new OperationWorkload();
        operations.init(properties);
        double warmUpS = Double.parseDouble(properties.getProperty(PacedWorkload.WINDOW_START, "0"));
        double rate = Double.parseDouble(properties.getProperty(RATE));
        awakeNs = (long) Math.min(AWAKE_SHARE * SECOND_NS / rate, MAX_AWAKE_NS);
        schedule = new ArrivalSchedule(
            rate,
            "poisson".equals(properties.getProperty(ARRIVALS, "poisson")),
            Double.parseDouble(properties.getProperty(SHIFT, "0")),
            Long.parseLong(properties.getProperty(SEED, "1")),
            Profile.parse(properties.getProperty(PROFILE, ""), warmUpS));
        String patience = properties.getProperty(PATIENCE, "1");
        patienceNs = "never".equals(patience) ? NEVER : (long) (Double.parseDouble(patience) * 1e6);
        spins = Boolean.parseBoolean(properties.getProperty("spin.sleep"));
        instantMs = Long.parseLong(properties.getProperty(INSTANT, "0"));
        beginEveryNs = (long) (SECOND_NS * Double.parseDouble(properties.getProperty(BEGIN_EVERY, "0")));
        counts = new ArrivalCounts(properties.getProperty(OUTPUT));
        startLag = new LatencyLog(START_LAG, properties);
        clientLag = new LatencyLog(CLIENT_LAG, properties);
        StatusLines.watch(this::endInterval);
        connecting = new CountDownLatch(Integer.parseInt(properties.getProperty("threadcount", "1")));
    }

    @Override
    public Object initThread(Properties properties, int number, int threads) throws WorkloadException {
        operations.initThread(properties, number, threads);
        return new Sleeper();
    }

    @Override
    public boolean doTransaction(DB db, Object thread) {
        Sleeper sleeper = (Sleeper) thread;
        if (!sleeper.isConnected) {
            sleeper.isConnected = true;
            awaitOthers();
        }
        if (free.getAndIncrement() == 0) {
            allBusyUntilNs = System.nanoTime();
        }
        Arrival arrival = awaitArrival(sleeper);
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
        threads.add(Thread.currentThread());
        connecting.countDown();
        try {
            connecting.await(MAX_CONNECTING_S, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for the next arrival that is not dropped; null where the client stops. */
    private Arrival awaitArrival(Sleeper sleeper) {
        Arrival arrival = takeArrival(sleeper);
        while (arrival != null && arrival.isDropped) {
            count(arrival);
            arrival = takeArrival(sleeper);
        }
        if (arrival == null || !sleeper.sleepUntil(arrival.dueNs)) {
            return null;
        }
        count(arrival);
        return arrival;
    }

    /** The next arrival, which may not be due yet; null where the client stops or nothing arrives any more. */
    private Arrival takeArrival(Sleeper sleeper) {
        Arrival arrival = drawArrival();
        if (arrival == null) {
            sleeper.sleepUntil(Long.MAX_VALUE / 2);
            return null;
        }
        // Taken before it is due it is not dropped, however late the thread wakes up.
        arrival.isDropped = System.nanoTime() - arrival.dueNs > patienceNs;
        arrival.operation = operations.chooseOperation();
        return arrival;
    }

    private synchronized Arrival drawArrival() {
        if (!hasBegun) {
            begin();
        }
        if (isStopRequested()) {
            return null;
        }
        schedule.advance();
        long dueNs = dueNs();
        return dueNs == NEVER ? null : new Arrival(dueNs, schedule.gap());
    }

    private void begin() {
        hasBegun = true;
        beganNs = findBegin();
        allBusyUntilNs = beganNs;
        synchronized (counts) {
            startLag.begin();
            clientLag.begin();
        }
    }

    private long findBegin() {
        long nowNs = System.nanoTime();
        if (instantMs == 0 || beginEveryNs == 0) {
            return nowNs;
        }
        return nowNs + untilBegin(nowNs - Clock.nanoTime(1000 * instantMs), beginEveryNs);
    }

    /**
     * Nanoseconds until the schedule begins, from so long after the agreed instant.
     *
     * <p>Clients that have connected by {@link #CONNECTED_NS} begin then. A later one begins whole periods after that, so
     * that its equal gaps still lie between those of the others.
     */
    static long untilBegin(long sinceInstantNs, long periodNs) {
        long lateNs = Math.max(sinceInstantNs - CONNECTED_NS, 0);
        long periods = (lateNs + periodNs - 1) / periodNs;
        return CONNECTED_NS + periods * periodNs - sinceInstantNs;
    }

    private void count(Arrival arrival) {
        long lateUs = (System.nanoTime() - arrival.dueNs) / 1000;
        synchronized (counts) {
            counts.add(arrival.operation, arrival.dueNs, arrival.isDropped, arrival.gap);
            if (arrival.dueNs >= allBusyUntilNs) {
                clientLag.record(lateUs);
            }
            if (!arrival.isDropped) {
                startLag.record(lateUs);
            }
        }
        if (!arrival.isDropped) {
            Measurements.getMeasurements().setIntendedStartTimeNs(arrival.dueNs);
        }
    }

    /** With each of YCSB's status lines, so that its intervals and these are the same. */
    private void endInterval() {
        synchronized (counts) {
            startLag.endInterval();
            clientLag.endInterval();
        }
        startLag.write();
        clientLag.write();
    }

    @Override
    public boolean doInsert(DB db, Object state) {
        throw new UnsupportedOperationException("a load is not offered at a rate");
    }

    @Override
    public void cleanup() throws WorkloadException {
        endInterval();
        counts.end();
        operations.cleanup();
    }

    /** Lets one thread wait until an instant. */
    private final class Sleeper {
        private boolean isConnected;

        /** False where the client stops before. */
        boolean sleepUntil(long instantNs) {
            long left = instantNs - System.nanoTime();
            boolean isAwake = spins;
            while (left > 0) {
                if (isStopRequested()) {
                    return false;
                }
                if (isAwake) {
                    Thread.onSpinWait();
                    left = instantNs - System.nanoTime();
                } else {
                    left = sleep(instantNs, left);
                    isAwake = left <= oversleptNs + awakeNs;
                }
            }
            return true;
        }

        /** Ends early by what sleeps are late at least, and a little more. Returns what is left then. */
        private long sleep(long instantNs, long left) {
            long usualNs = oversleptNs;
            long earlyNs = usualNs + awakeNs;
            long sleepNs = left > 2 * earlyNs ? left - earlyNs : left;
            LockSupport.parkNanos(sleepNs);
            long leftNow = instantNs - System.nanoTime();
            long lateNs = left - leftNow - sleepNs;
            // Others have moved it on meanwhile. A sleep that was ended, as by a stop, is none.
            if (lateNs > usualNs) {
                oversleptNs = Math.min(oversleptNs + STEP_NS, MAX_OVERSLEPT_NS);
            } else if (lateNs >= 0) {
                oversleptNs = Math.max(oversleptNs - 49 * STEP_NS, 0);
            }
            return leftNow;
        }
    }

    /** One operation that is to be done. */
    private static final class Arrival {
        private final long dueNs;
        private final double gap;
        private String operation;
        private boolean isDropped;

        Arrival(long dueNs, double gap) {
            this.dueNs = dueNs;
            this.gap = gap;
        }
    }
}
