package benchsite;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.Reader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import org.apache.htrace.core.Tracer;
import org.benchsite.ycsb.AcknowledgedWrites;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.DBWrapper;
import site.ycsb.Status;
import site.ycsb.measurements.Measurements;
import site.ycsb.workloads.CoreWorkload;

/**
 * What a binding costs beyond its driver, and YCSB beyond the binding: the same operations on the same records by arms
 * that take turns in one JVM. The arms are the driver alone ("bare"), the binding, the binding with a ledger of its
 * writes ("ledger"), and the whole client with YCSB's workload and measurements ("client").
 *
 * <p>{@code benchsite.DriverComparison PROPERTIES THREADS SECONDS}: PROPERTIES is a file with the client's properties, the
 * binding's class as {@code db} and its {@link BareLoop} as {@code bare}. Each line of stdin names an arm, whose round is
 * answered with one line "OPERATIONS SECONDS CPU_SECONDS BYTES": the processor time of the whole JVM, and what its
 * threads allocated. Half of the operations read a whole record, half write one field.
 */
public final class DriverComparison {
    private static final String TABLE = "usertable";
    private static final int RECORDS = 10_000;
    private static final int FIELDS = 10;
    private static final byte[] VALUE = "v".repeat(100).getBytes(ISO_8859_1);

    /** The binding as YCSB uses it. */
    private static final class Binding implements BareLoop {
        private DB db;

        @Override
        public void connect(Properties properties) throws DBException {
            db = Start.connect(properties);
        }

        @Override
        public int read(String key) {
            Map<String, ByteIterator> row = new HashMap<>();
            check(db.read(TABLE, key, null, row));
            return row.size();
        }

        @Override
        public void update(String key, String field, byte[] value) {
            Map<String, ByteIterator> values = new HashMap<>();
            values.put(field, new ByteArrayByteIterator(value));
            check(db.update(TABLE, key, values));
        }

        void insert(String key) {
            Map<String, ByteIterator> record = new HashMap<>();
            for (int field = 0; field < FIELDS; field++) {
                record.put("field" + field, new ByteArrayByteIterator(VALUE));
            }
            check(db.insert(TABLE, key, record));
        }

        @Override
        public void close() throws DBException {
            db.cleanup();
        }

        private static void check(Status status) {
            if (status != Status.OK) {
                throw new IllegalStateException("an operation ended as " + status);
            }
        }
    }

    /** One thread's operations, one after the other. */
    private interface Loop {
        void next() throws Exception;

        void close() throws Exception;
    }

    /** Works until its time is over and counts. */
    private static final class Worker extends Thread {
        private final Loop loop;
        private final long untilNanos;
        private long operations;
        private long allocated;
        private Exception failure;

        Worker(Loop loop, long untilNanos) {
            this.loop = loop;
            this.untilNanos = untilNanos;
        }

        @Override
        public void run() {
            try {
                while (System.nanoTime() < untilNanos) {
                    loop.next();
                    operations++;
                }
            } catch (Exception e) {
                failure = e;
            }
            allocated = THREADS.getThreadAllocatedBytes(getId());
        }
    }

    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final Properties properties = new Properties();
    private final CoreWorkload workload;
    private final int threads;
    private final double seconds;

    private DriverComparison(String file, int threads, double seconds) throws Exception {
        this.threads = threads;
        this.seconds = seconds;
        try (Reader reader = Files.newBufferedReader(Path.of(file), ISO_8859_1)) {
            properties.load(reader);
        }
        Properties mix = new Properties();
        mix.putAll(Map.of(
            "recordcount", String.valueOf(RECORDS), "insertorder", "ordered", "requestdistribution", "uniform",
            "readproportion", "0.5", "updateproportion", "0.5"));
        Measurements.setProperties(mix);
        workload = new CoreWorkload();
        workload.init(mix);
    }

    public static void main(String[] args) throws Exception {
        DriverComparison comparison =
            new DriverComparison(args[0], Integer.parseInt(args[1]), Double.parseDouble(args[2]));
        comparison.load();
        BufferedReader arms = new BufferedReader(new InputStreamReader(System.in, US_ASCII));
        for (String arm = arms.readLine(); arm != null; arm = arms.readLine()) {
            System.out.println(comparison.measure(arm));
        }
        System.exit(0);
    }

    /** Unless an earlier comparison with this server has done so. */
    private void load() throws Exception {
        Binding binding = new Binding();
        binding.connect(properties);
        if (!binding.db.read(TABLE, "user" + (RECORDS - 1), null, new HashMap<>()).isOk()) {
            for (int i = 0; i < RECORDS; i++) {
                binding.insert("user" + i);
            }
        }
        binding.close();
    }

    private String measure(String arm) throws Exception {
        Path ledger = Files.createTempFile("benchsite", "ledger");
        if (arm.equals("ledger")) {
            System.setProperty(AcknowledgedWrites.PROPERTY, ledger.toString());
        }
        List<Loop> loops = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            loops.add(arm.equals("client") ? client() : operations(arm));
        }
        System.clearProperty(AcknowledgedWrites.PROPERTY);
        long[] others = THREADS.getAllThreadIds();
        long allocated = -sum(others);
        long begun = System.nanoTime();
        long cpu = SYSTEM.getProcessCpuTime();
        List<Worker> workers = new ArrayList<>();
        for (Loop loop : loops) {
            Worker worker = new Worker(loop, begun + (long) (seconds * 1e9));
            worker.start();
            workers.add(worker);
        }
        long operations = 0;
        for (Worker worker : workers) {
            worker.join();
            if (worker.failure != null) {
                throw worker.failure;
            }
            operations += worker.operations;
            allocated += worker.allocated;
        }
        double elapsed = (System.nanoTime() - begun) / 1e9;
        double used = (SYSTEM.getProcessCpuTime() - cpu) / 1e9;
        allocated += sum(others);
        for (Loop loop : loops) {
            loop.close();
        }
        Files.delete(ledger);
        return String.format(Locale.ROOT, "%d %.3f %.3f %d", operations, elapsed, used, allocated);
    }

    private static long sum(long[] threads) {
        return Arrays.stream(THREADS.getThreadAllocatedBytes(threads)).sum();
    }

    private Loop operations(String name) throws Exception {
        BareLoop arm = name.equals("bare")
            ? (BareLoop) Class.forName(properties.getProperty("bare")).getDeclaredConstructor().newInstance()
            : new Binding();
        arm.connect(properties);
        return new Loop() {
            @Override
            public void next() throws Exception {
                ThreadLocalRandom random = ThreadLocalRandom.current();
                String key = "user" + random.nextInt(RECORDS);
                if (random.nextBoolean()) {
                    int fields = arm.read(key);
                    if (fields != FIELDS) {
                        throw new IllegalStateException(key + " has " + fields + " fields");
                    }
                } else {
                    arm.update(key, "field" + random.nextInt(FIELDS), VALUE);
                }
            }

            @Override
            public void close() throws Exception {
                arm.close();
            }
        };
    }

    private Loop client() throws Exception {
        DB db = new DBWrapper(Start.connect(properties), new Tracer.Builder("YCSB").build());
        return new Loop() {
            @Override
            public void next() {
                workload.doTransaction(db, null);
            }

            @Override
            public void close() throws DBException {
                db.cleanup();
            }
        };
    }
}
