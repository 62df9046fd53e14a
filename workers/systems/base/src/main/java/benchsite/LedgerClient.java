package benchsite;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import org.benchsite.ycsb.AcknowledgedWrites;
import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.Failure;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.RandomByteIterator;
import site.ycsb.Status;

/**
 * Writes through a binding until the server is gone, with a ledger, and reads back what a restarted server holds.
 *
 * <p>{@code benchsite.LedgerClient ARGUMENTS OF YCSB}; then each line of standard input is a call:
 *
 * <ul>
 *   <li>{@code WRITE LEDGER PREFIX RATE}: every thread inserts records of its own and overwrites them, RATE operations a
 *       second in all. Answers {@code WRITING} when every thread has had an acknowledgement and {@code STOPPED} when
 *       every thread has met an error or {@code STOP}, with the ledger complete.
 *   <li>{@code READ KEYS VALUES}: reads the keys of one file and writes "KEY VERSION" into the other; the version is 0
 *       for a key that is not there, -1 for a damaged record and -2 for one that cannot be read. Answers {@code READ}.
 * </ul>
 *
 * <p>A call that fails is answered with {@code FAILED reason}. One process serves many lives of one server.
 */
public final class LedgerClient {
    private static final int FIELD_BYTES = 100;
    private static final long NS_PER_S = 1_000_000_000L;
    private static final long UNREADABLE = -2;

    private final Properties properties;
    private final int threads;
    private final String table;
    private final AtomicLong begun = new AtomicLong();
    private volatile boolean isStopping;

    private LedgerClient(Properties properties) {
        this.properties = properties;
        threads = Integer.parseInt(properties.getProperty("threadcount", "1"));
        table = properties.getProperty("table", "usertable");
    }

    public static void main(String[] args) throws IOException {
        LedgerClient client = new LedgerClient(Arguments.parse(args));
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.ISO_8859_1));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("STOP")) {
                client.isStopping = true;
            } else {
                new Thread(() -> client.answer(words)).start();
            }
        }
        System.exit(0);
    }

    private void answer(String[] words) {
        try {
            if (words[0].equals("WRITE")) {
                write(words[1], words[2], Double.parseDouble(words[3]));
                System.out.println("STOPPED");
            } else {
                read(Path.of(words[1]), Path.of(words[2]));
                System.out.println("READ");
            }
        } catch (DBException | IOException | InterruptedException | RuntimeException e) {
            System.out.println("FAILED " + Failure.describe(e));
        }
    }

    private void write(String ledger, String prefix, double rate) throws DBException, InterruptedException {
        System.setProperty(AcknowledgedWrites.PROPERTY, ledger);
        begun.set(0);
        isStopping = false;
        Thread[] writers = new Thread[threads];
        DB[] bindings = new DB[threads];
        for (int i = 0; i < threads; i++) {
            bindings[i] = Start.connect(properties);
        }
        System.clearProperty(AcknowledgedWrites.PROPERTY);
        for (int i = 0; i < threads; i++) {
            DB db = bindings[i];
            String keys = prefix + i + "-";
            writers[i] = new Thread(() -> writeUntilError(db, keys, (long) (NS_PER_S * threads / rate)));
            writers[i].start();
        }
        for (int i = 0; i < threads; i++) {
            writers[i].join();
            bindings[i].cleanup();
        }
    }

    /** Half of the writes are new records, half overwrite one that this thread wrote. */
    private void writeUntilError(DB db, String keys, long intervalNanos) {
        Random random = new Random(keys.hashCode());
        long start = System.nanoTime();
        int records = 0;
        for (long operation = 0; !isStopping; operation++) {
            boolean inserts = operation % 2 == 0;
            String key = keys + (inserts ? records : random.nextInt(records));
            Map<String, ByteIterator> values = Map.of("field0", new RandomByteIterator(FIELD_BYTES));
            Status status = inserts ? db.insert(table, key, values) : db.update(table, key, values);
            if (!status.isOk()) {
                return;
            }
            records += inserts ? 1 : 0;
            if (operation == 0 && begun.incrementAndGet() == threads) {
                System.out.println("WRITING");
            }
            LockSupport.parkNanos(start + (operation + 1) * intervalNanos - System.nanoTime());
        }
    }

    private void read(Path keys, Path versions) throws DBException, IOException {
        DB db = Start.connect(properties);
        List<String> lines = Files.readAllLines(keys, StandardCharsets.ISO_8859_1);
        try (PrintWriter answers = new PrintWriter(versions.toFile(), StandardCharsets.ISO_8859_1)) {
            for (String key : lines) {
                Map<String, ByteIterator> values = new HashMap<>();
                Status status = db.read(table, key, null, values);
                long version = status.equals(Status.NOT_FOUND) ? 0
                    : status.isOk() ? BenchsiteDB.versionOf(key, values) : UNREADABLE;
                answers.println(key + " " + version);
            }
        } finally {
            db.cleanup();
        }
    }
}
