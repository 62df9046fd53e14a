package benchsite;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;

import org.benchsite.redis.RedisDB;
import org.benchsite.ycsb.AcknowledgedWrites;
import redis.clients.jedis.Jedis;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * How much of the driver's throughput the Redis binding leaves: the same operations on the same records by two arms in
 * turn. The arms are Jedis alone ("bare"), the binding, and the binding with a ledger of its writes ("ledger").
 *
 * <p>{@code benchsite.BareJedis PORT THREADS ROUNDS SECONDS ARM ARM} prints one line "ARM ROUND RATE" for each arm of
 * each round, the rate in operations a second. Half of the operations read a whole record, half write one field. Round
 * 0 warms up.
 */
public final class BareJedis {
    private static final int RECORDS = 10_000;
    private static final int FIELDS = 10;
    private static final int FIELD_BYTES = 100;
    private static final String VALUE = "v".repeat(FIELD_BYTES);
    private static final byte[] VALUE_BYTES = VALUE.getBytes(ISO_8859_1);

    /** One thread's way of working; every call is one operation. */
    private interface Arm extends AutoCloseable {
        void read(String key) throws Exception;

        void update(String key, String field) throws Exception;

        @Override
        void close();
    }

    private static final class Bare implements Arm {
        private final Jedis jedis;

        Bare(int port) {
            jedis = new Jedis("127.0.0.1", port);
        }

        @Override
        public void read(String key) {
            if (jedis.hgetAll(key).size() != FIELDS) {
                throw new IllegalStateException("a record is not whole");
            }
        }

        @Override
        public void update(String key, String field) {
            jedis.hset(key, field, VALUE);
        }

        @Override
        public void close() {
            jedis.close();
        }
    }

    private static final class Binding implements Arm {
        private final RedisDB db = new RedisDB();

        Binding(int port) throws DBException {
            Properties properties = new Properties();
            properties.setProperty("redis.port", Integer.toString(port));
            db.setProperties(properties);
            db.init();
        }

        @Override
        public void read(String key) {
            Map<String, ByteIterator> row = new HashMap<>();
            check(db.read("usertable", key, null, row));
            if (row.size() != FIELDS) {
                throw new IllegalStateException("a record is not whole");
            }
        }

        @Override
        public void update(String key, String field) {
            Map<String, ByteIterator> values = new HashMap<>();
            values.put(field, new ByteArrayByteIterator(VALUE_BYTES));
            check(db.update("usertable", key, values));
        }

        @Override
        public void close() {
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
        private final Arm arm;
        private final long untilNanos;
        private long operations;
        private Exception failure;

        Worker(Arm arm, long untilNanos) {
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
                        arm.read(key);
                    } else {
                        arm.update(key, "field" + random.nextInt(FIELDS));
                    }
                    operations++;
                }
            } catch (Exception e) {
                failure = e;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        int threads = Integer.parseInt(args[1]);
        int rounds = Integer.parseInt(args[2]);
        double seconds = Double.parseDouble(args[3]);
        load(port);
        for (int round = 0; round <= rounds; round++) {
            // Whoever comes second finds the machine warmer, so the arms take turns in being first.
            for (String arm : round % 2 == 0 ? List.of(args[4], args[5]) : List.of(args[5], args[4])) {
                System.out.printf(Locale.ROOT, "%s %d %.1f%n", arm, round, measure(arm, port, threads, seconds));
            }
        }
    }

    private static void load(int port) {
        Map<String, String> record = new HashMap<>();
        for (int field = 0; field < FIELDS; field++) {
            record.put("field" + field, VALUE);
        }
        try (Jedis jedis = new Jedis("127.0.0.1", port)) {
            for (int i = 0; i < RECORDS; i++) {
                jedis.hset("user" + i, record);
            }
        }
    }

    /** Operations a second of all threads together. */
    private static double measure(String name, int port, int threads, double seconds) throws Exception {
        List<Arm> arms = new ArrayList<>();
        Path ledger = Files.createTempFile("benchsite", "ledger");
        if (name.equals("ledger")) {
            System.setProperty(AcknowledgedWrites.PROPERTY, ledger.toString());
        }
        for (int i = 0; i < threads; i++) {
            arms.add(name.equals("bare") ? new Bare(port) : new Binding(port));
        }
        System.clearProperty(AcknowledgedWrites.PROPERTY);
        long begun = System.nanoTime();
        List<Worker> workers = new ArrayList<>();
        for (Arm arm : arms) {
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
        arms.forEach(Arm::close);
        Files.delete(ledger);
        return operations / elapsed;
    }

    private BareJedis() {
    }
}
