package benchsite;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.Reader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;

import com.sun.management.OperatingSystemMXBean;
import org.benchsite.ycsb.AcknowledgedWrites;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * What a binding costs beyond its driver: the same operations on the same records by two arms in turn, in one JVM. The
 * arms are the driver alone ("bare"), the binding, and the binding with a ledger of its writes ("ledger").
 *
 * <p>{@code benchsite.DriverComparison PROPERTIES THREADS ROUNDS SECONDS ARM ARM}: PROPERTIES is a file with the
 * client's properties, the binding's class as {@code db} and its {@link BareLoop} as {@code bare}. Prints one line "ARM
 * ROUND OPERATIONS SECONDS CPU_SECONDS" for each arm of each round; the last is the processor time of the whole JVM.
 * Half of the operations read a whole record, half write one field. Round 0 warms up.
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

    /** Works until its time is over and counts. */
    private static final class Worker extends Thread {
        private final BareLoop arm;
        private final long untilNanos;
        private long operations;
        private Exception failure;

        Worker(BareLoop arm, long untilNanos) {
            this.arm = arm;
            this.untilNanos = untilNanos;
        }

        @Override
        public void run() {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            try {
                while (System.nanoTime() < untilNanos) {
                    String key = "user" + random.nextInt(RECORDS);
                    if (random.nextBoolean()) {
                        int fields = arm.read(key);
                        if (fields != FIELDS) {
                            throw new IllegalStateException(key + " has " + fields + " fields");
                        }
                    } else {
                        arm.update(key, "field" + random.nextInt(FIELDS), VALUE);
                    }
                    operations++;
                }
            } catch (Exception e) {
                failure = e;
            }
        }
    }

    private final Properties properties = new Properties();
    private final OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    public static void main(String[] args) throws Exception {
        DriverComparison comparison = new DriverComparison();
        try (Reader file = Files.newBufferedReader(Path.of(args[0]), ISO_8859_1)) {
            comparison.properties.load(file);
        }
        comparison.load();
        int rounds = Integer.parseInt(args[2]);
        for (int round = 0; round <= rounds; round++) {
            // The second arm of a round finds the machine warmer, so the arms take turns in being first.
            for (String arm : round % 2 == 0 ? List.of(args[4], args[5]) : List.of(args[5], args[4])) {
                System.out.println(arm + " " + round + " "
                    + comparison.measure(arm, Integer.parseInt(args[1]), Double.parseDouble(args[3])));
            }
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

    private String measure(String name, int threads, double seconds) throws Exception {
        Path ledger = Files.createTempFile("benchsite", "ledger");
        if (name.equals("ledger")) {
            System.setProperty(AcknowledgedWrites.PROPERTY, ledger.toString());
        }
        List<BareLoop> arms = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            BareLoop arm = name.equals("bare")
                ? (BareLoop) Class.forName(properties.getProperty("bare")).getDeclaredConstructor().newInstance()
                : new Binding();
            arm.connect(properties);
            arms.add(arm);
        }
        System.clearProperty(AcknowledgedWrites.PROPERTY);
        long begun = System.nanoTime();
        long cpu = system.getProcessCpuTime();
        List<Worker> workers = new ArrayList<>();
        for (BareLoop arm : arms) {
            Worker worker = new Worker(arm, begun + (long) (seconds * 1e9));
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
        }
        double elapsed = (System.nanoTime() - begun) / 1e9;
        double used = (system.getProcessCpuTime() - cpu) / 1e9;
        for (BareLoop arm : arms) {
            arm.close();
        }
        Files.delete(ledger);
        return String.format(Locale.ROOT, "%d %.3f %.3f", operations, elapsed, used);
    }

    private DriverComparison() {
    }
}
