package benchsite;

import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;

import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import org.HdrHistogram.Recorder;
import org.benchsite.ycsb.BenchsiteWorkload;
import org.benchsite.ycsb.Ledger;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.RandomByteIterator;
import site.ycsb.Workload;
import site.ycsb.WorkloadException;
import site.ycsb.generator.ScrambledZipfianGenerator;
import site.ycsb.measurements.Measurements;
import site.ycsb.workloads.CoreWorkload;

/**
 * Loads and exercises, before the agreed instant, what a run uses, so that its first seconds are not spent on loading
 * and compiling classes. Nothing of it is measured.
 */
final class WarmUp {
    /** Milliseconds for which every thread works on the database before the agreed instant; 0 by default. */
    static final String PROPERTY = "warmup.duration_ms";
    /** Whether that work is reads alone. */
    static final String READS_ONLY = "warmup.reads_only";
    private static final int ROUNDS = 20_000;
    private static final String[] CLASSES = {
        "site.ycsb.Client", "site.ycsb.ClientThread", "site.ycsb.DBFactory", "site.ycsb.DBWrapper",
        "site.ycsb.StatusThread", "site.ycsb.TerminatorThread", "site.ycsb.workloads.CoreWorkload",
        "site.ycsb.generator.AcknowledgedCounterGenerator", "site.ycsb.generator.DiscreteGenerator",
        "site.ycsb.generator.UniformLongGenerator", "site.ycsb.measurements.Measurements",
        "site.ycsb.measurements.OneMeasurementHdrHistogram",
        "site.ycsb.measurements.exporter.TextMeasurementsExporter", "org.apache.htrace.core.Tracer",
    };

    private static final int STATUS_LINES = 50;
    /** Work on the database ends so long before the agreed instant: operations end, connections close. */
    private static final long REST_MS = 200;

    private final ExecutorService pool;
    private final List<Future<?>> results = new ArrayList<>();
    private volatile boolean isOver;

    /** Exercises YCSB's own classes; it does not touch the database. */
    static void run() throws DBException {
        try {
            for (String name : CLASSES) {
                Class.forName(name);
            }
        } catch (ClassNotFoundException | LinkageError e) {
            throw new DBException("YCSB's classes cannot be loaded: " + e, e);
        }
        Recorder recorder = new Recorder(3);
        ScrambledZipfianGenerator keys = new ScrambledZipfianGenerator(ROUNDS);
        for (int i = 0; i < ROUNDS; i++) {
            recorder.recordValue(1 + keys.nextValue() % 1000);
        }
        for (int i = 0; i < ROUNDS / 10; i++) {
            recorder.recordValue(1 + new RandomByteIterator(100).toArray()[i % 100]);
        }
    }

    /**
     * Begins to read and write with the run's own threads and mix, and returns after as many milliseconds as {@link #PROPERTY}
     * says; null for none. Inserts are replaced by reads: the run inserts those records itself. Nothing is deleted.
     */
    static WarmUp begin(Properties properties) throws DBException {
        long milliseconds = Long.parseLong(properties.getProperty(PROPERTY, "0"));
        if (milliseconds == 0) {
            return null;
        }
        Properties own = new Properties();
        own.putAll(properties);
        own.setProperty("readproportion", String.valueOf(
            share(own, CoreWorkload.READ_PROPORTION_PROPERTY, CoreWorkload.READ_PROPORTION_PROPERTY_DEFAULT)
                + share(own, CoreWorkload.INSERT_PROPORTION_PROPERTY, CoreWorkload.INSERT_PROPORTION_PROPERTY_DEFAULT)));
        own.setProperty("insertproportion", "0");
        if (Boolean.parseBoolean(own.getProperty(READS_ONLY))) {
            own.setProperty("readproportion", "1");
            own.setProperty("updateproportion", "0");
            own.setProperty("scanproportion", "0");
            own.setProperty("readmodifywriteproportion", "0");
        }
        own.setProperty(BenchsiteWorkload.DELETE_PROPORTION, "0");
        own.setProperty("hdrhistogram.fileoutput", "false");
        Measurements.setProperties(own);
        writeStatusLines();
        long end = System.nanoTime() + milliseconds * 1_000_000L;
        WarmUp warmUp = new WarmUp(own);
        while (System.nanoTime() < end && warmUp.results.stream().noneMatch(Future::isDone)) {
            LockSupport.parkNanos(10_000_000);
        }
        if (warmUp.results.stream().anyMatch(Future::isDone)) {
            warmUp.end();
        }
        return warmUp;
    }

    private WarmUp(Properties properties) throws DBException {
        int threads = Integer.parseInt(properties.getProperty("threadcount", "1"));
        pool = Executors.newFixedThreadPool(threads);
        Workload workload = BenchsiteWorkload.isNeeded(properties) ? new BenchsiteWorkload() : new CoreWorkload();
        try {
            workload.init(properties);
        } catch (WorkloadException e) {
            throw new DBException(e);
        }
        for (int i = 0; i < threads; i++) {
            int number = i;
            results.add(pool.submit(() -> {
                DB db = Start.connect(properties);
                Object state = workload.initThread(properties, number, threads);
                while (!isOver) {
                    workload.doTransaction(db, state);
                }
                db.cleanup();
                return null;
            }));
        }
    }

    /**
     * Compiles what YCSB does at each status line. The first lines of a run else take so long beside its threads that
     * the intervals of its operations end at different instants, and no window can begin there.
     */
    private static void writeStatusLines() {
        Measurements measurements = Measurements.getMeasurements();
        HistogramLogWriter log = new HistogramLogWriter(
            new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        Recorder recorder = new Recorder(3);
        Histogram interval = null;
        for (int i = 0; i < STATUS_LINES; i++) {
            for (int latencyUs = 1; latencyUs < 40; latencyUs++) {
                measurements.measure("READ", latencyUs * latencyUs);
                recorder.recordValue(latencyUs * latencyUs);
            }
            measurements.getSummary();
            interval = recorder.getIntervalHistogram(interval);
            log.outputIntervalHistogram(interval);
        }
    }

    /** Goes on until shortly before an instant (epoch milliseconds), and ends. Raises what a thread has raised. */
    void endBefore(long instantMs) throws DBException {
        long left = instantMs - REST_MS - System.currentTimeMillis();
        if (left > 0) {
            LockSupport.parkNanos(left * 1_000_000);
        }
        end();
    }

    private void end() throws DBException {
        isOver = true;
        try {
            for (Future<?> result : results) {
                result.get();
            }
        } catch (ExecutionException e) {
            throw e.getCause() instanceof DBException ? (DBException) e.getCause() : new DBException(e.getCause());
        } catch (InterruptedException e) {
            throw new DBException(e);
        } finally {
            pool.shutdownNow();
        }
        Ledger.SHARED.clear();
        forgetMeasurements();
    }

    private static double share(Properties properties, String name, String fallback) {
        return Double.parseDouble(properties.getProperty(name, fallback));
    }

    /** YCSB makes its only instance when it is first asked for it, with the properties it has by then. */
    private static void forgetMeasurements() throws DBException {
        try {
            Field singleton = Measurements.class.getDeclaredField("singleton");
            singleton.setAccessible(true);
            singleton.set(null, null);
        } catch (ReflectiveOperationException e) {
            throw new DBException("this YCSB cannot forget a warm-up (" + PROPERTY + "): " + e, e);
        }
    }

    /** The version of HdrHistogram that really was loaded: a compiled-in constant would always name our own. */
    static String histogramVersion() {
        try {
            Field version = Class.forName("org.HdrHistogram.Version").getDeclaredField("version");
            version.setAccessible(true);
            return (String) version.get(null);
        } catch (ReflectiveOperationException e) {
            return "unknown";
        }
    }
}
