package benchsite;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import org.benchsite.ycsb.Failure;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * Reads records that it has just written, and counts how often and for how long the answers are old.
 *
 * <p>{@code benchsite.StalenessClient ARGUMENTS OF YCSB} with these properties: {@code staleness.reader}, a file with the
 * properties of the connections that read; {@code staleness.seconds}; {@code staleness.rate}, the operations per second of
 * the load beside the probes, half of them updates; {@code staleness.results}, the file of results, a line for each probe:
 *
 * <ul>
 *   <li>{@code READ AFTER_0 AFTER_10 AFTER_100 LAST_STALE REGRESSIONS}: whether the reads sent 0, 10 and 100 ms after the
 *       acknowledgement of a write were stale (1) or not (0); when the last stale read was sent, in microseconds after the
 *       acknowledgement, -1 without one; how many reads had an older version than a read of the same thread before them.
 *       After a stale read the thread reads on until it sees its write.
 *   <li>{@code MODIFY READ WRITTEN}: the version that a read-modify-write read and the version that it wrote. Two that
 *       read the same version have lost an update.
 * </ul>
 */
public final class StalenessClient {
    private static final int LOAD_THREADS = 4;
    private static final int LOAD_RECORDS = 1000;
    private static final int PROBE_THREADS = 2;
    private static final int MODIFY_THREADS = 2;
    private static final int VALUE_DIGITS = 100;
    private static final long NS_PER_S = 1_000_000_000L;
    private static final long NS_PER_MS = 1_000_000L;
    private static final long[] OFFSETS_NS = {0, 10 * NS_PER_MS, 100 * NS_PER_MS};
    private static final long POLL_NS = NS_PER_MS / 2;
    private static final long MAX_STALENESS_NS = 30 * NS_PER_S;
    /** Between two probes of one thread: with the last offset a cycle takes 200 ms, 10 writes a second in all. */
    private static final long PAUSE_NS = 100 * NS_PER_MS;

    private final Properties writing;
    private final Properties reading = new Properties();
    private final String table;
    /** Another process may have measured the same server before. */
    private final String prefix = Long.toHexString(System.currentTimeMillis()) + "-";
    private final AtomicLong lastVersion = new AtomicLong();
    private final Queue<String> results = new ConcurrentLinkedQueue<>();
    private final Queue<String> failures = new ConcurrentLinkedQueue<>();
    private volatile long end;

    private StalenessClient(Properties properties) throws IOException {
        writing = properties;
        table = properties.getProperty("table", "usertable");
        reading.putAll(properties);
        try (Reader file = Files.newBufferedReader(Path.of(required("staleness.reader")), StandardCharsets.ISO_8859_1)) {
            reading.load(file);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        try {
            StalenessClient client = new StalenessClient(Arguments.parse(args));
            client.run();
            if (client.failures.isEmpty()) {
                System.exit(0);
            }
            System.err.println("BENCHSITE FAILED " + client.failures.peek());
        } catch (IOException | DBException | IllegalArgumentException | OperationFailed e) {
            System.err.println("BENCHSITE FAILED " + Failure.describe(e));
        }
        System.exit(Start.FAILED);
    }

    private String required(String name) {
        String value = writing.getProperty(name, "");
        if (value.isEmpty()) {
            throw new IllegalArgumentException("the property " + name + " is missing");
        }
        return value;
    }

    private void run() throws DBException, InterruptedException, IOException, OperationFailed {
        double seconds = Double.parseDouble(required("staleness.seconds"));
        double rate = Double.parseDouble(required("staleness.rate"));
        DB first = Start.connect(writing);
        for (int i = 0; i < LOAD_RECORDS; i++) {
            write(first, prefix + "load-" + i, true);
        }
        for (int i = 0; i < PROBE_THREADS; i++) {
            write(first, prefix + "probe-" + i, true);
        }
        write(first, prefix + "modified", true);
        first.cleanup();
        end = System.nanoTime() + (long) (seconds * NS_PER_S);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < LOAD_THREADS; i++) {
            int seed = i;
            threads.add(start((writer, reader) -> load(writer, reader, seed, (long) (NS_PER_S * LOAD_THREADS / rate))));
        }
        for (int i = 0; i < PROBE_THREADS; i++) {
            String key = prefix + "probe-" + i;
            threads.add(start((writer, reader) -> probe(writer, reader, key)));
        }
        for (int i = 0; i < MODIFY_THREADS; i++) {
            int seed = i;
            threads.add(start((writer, reader) -> modify(writer, reader, new Random(seed))));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        try (PrintWriter file = new PrintWriter(required("staleness.results"), StandardCharsets.ISO_8859_1)) {
            results.forEach(file::println);
        }
    }

    /** What a thread does with its two connections. */
    private interface Work {
        void accept(DB writer, DB reader) throws OperationFailed;
    }

    private static final class OperationFailed extends Exception {
        private static final long serialVersionUID = 1L;

        OperationFailed(String message) {
            super(message);
        }
    }

    private Thread start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                DB writer = Start.connect(writing);
                DB reader = Start.connect(reading);
                try {
                    work.accept(writer, reader);
                } finally {
                    reader.cleanup();
                    writer.cleanup();
                }
            } catch (DBException | OperationFailed | RuntimeException e) {
                failures.add(Failure.describe(e));
                end = 0;
            }
        });
        thread.start();
        return thread;
    }

    private boolean goesOn() {
        return end != 0 && System.nanoTime() < end;
    }

    private void load(DB writer, DB reader, int seed, long intervalNanos) throws OperationFailed {
        Random random = new Random(seed);
        long start = System.nanoTime();
        for (long operation = 0; goesOn(); operation++) {
            String key = prefix + "load-" + random.nextInt(LOAD_RECORDS);
            if (operation % 2 == 0) {
                write(writer, key, false);
            } else {
                read(reader, key);
            }
            LockSupport.parkNanos(start + (operation + 1) * intervalNanos - System.nanoTime());
        }
    }

    private void probe(DB writer, DB reader, String key) throws OperationFailed {
        long newest = 0;
        while (goesOn()) {
            long version = write(writer, key, false);
            long acknowledged = System.nanoTime();
            boolean[] wasStale = new boolean[OFFSETS_NS.length];
            int due = 0;
            long lastStale = -1;
            int regressions = 0;
            boolean isFresh = false;
            while (due < OFFSETS_NS.length || !isFresh) {
                if (isFresh) {
                    sleepUntil(acknowledged + OFFSETS_NS[due]);
                }
                long sent = System.nanoTime() - acknowledged;
                long seen = read(reader, key);
                boolean isStale = seen < version;
                regressions += seen < newest ? 1 : 0;
                newest = Math.max(newest, seen);
                lastStale = isStale ? sent : lastStale;
                isFresh = !isStale;
                while (due < OFFSETS_NS.length && sent >= OFFSETS_NS[due]) {
                    wasStale[due++] = isStale;
                }
                if (sent > MAX_STALENESS_NS) {
                    throw new OperationFailed("a write was not seen within " + MAX_STALENESS_NS / NS_PER_S + " s");
                }
                if (!isFresh) {
                    LockSupport.parkNanos(POLL_NS);
                }
            }
            StringBuilder line = new StringBuilder("READ");
            for (boolean stale : wasStale) {
                line.append(stale ? " 1" : " 0");
            }
            long lastStaleMicros = lastStale < 0 ? -1 : lastStale / 1000;
            results.add(line.append(' ').append(lastStaleMicros).append(' ').append(regressions).toString());
            LockSupport.parkNanos(PAUSE_NS);
        }
    }

    private void modify(DB writer, DB reader, Random random) throws OperationFailed {
        while (goesOn()) {
            long seen = read(reader, prefix + "modified");
            long written = write(writer, prefix + "modified", false);
            results.add("MODIFY " + seen + " " + written);
            LockSupport.parkNanos(random.nextInt((int) (2 * PAUSE_NS)));
        }
    }

    private static void sleepUntil(long instant) {
        for (long rest = instant - System.nanoTime(); rest > 0; rest = instant - System.nanoTime()) {
            LockSupport.parkNanos(rest);
        }
    }

    /** Writes a new version and returns it, once it is acknowledged. */
    private long write(DB db, String key, boolean isNew) throws OperationFailed {
        long version = lastVersion.incrementAndGet();
        Map<String, ByteIterator> values =
            Map.of("field0", new StringByteIterator(String.format("%0" + VALUE_DIGITS + "d", version)));
        Status status = isNew ? db.insert(table, key, values) : db.update(table, key, values);
        if (!status.isOk()) {
            throw new OperationFailed("a write of " + key + " failed: " + status.getName());
        }
        return version;
    }

    /** The version of a record, 0 where it is not there yet. */
    private long read(DB db, String key) throws OperationFailed {
        Map<String, ByteIterator> values = new HashMap<>();
        Status status = db.read(table, key, null, values);
        if (status.equals(Status.NOT_FOUND)) {
            return 0;
        }
        if (!status.isOk()) {
            throw new OperationFailed("a read of " + key + " failed: " + status.getName());
        }
        return Long.parseLong(values.get("field0").toString());
    }
}
