package org.benchsite.ycsb;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;

import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;
import site.ycsb.WorkloadException;
import site.ycsb.generator.AcknowledgedCounterGenerator;
import site.ycsb.generator.CounterGenerator;
import site.ycsb.generator.ExponentialGenerator;
import site.ycsb.generator.NumberGenerator;
import site.ycsb.generator.ScrambledZipfianGenerator;
import site.ycsb.generator.SkewedLatestGenerator;

/**
 * YCSB's operations with what its 0.17.0 lacks: clients that insert keys of their own, other skews, and deletes.
 *
 * <p>Operations ask for records that were loaded and for those that this client inserted ({@link InsertedRecords}): of
 * the inserts of other clients it knows nothing. YCSB's generators choose among these records as among those of a client
 * that is alone.
 */
public final class BenchsiteWorkload extends OperationWorkload {
    /** Of the zipfian distributions: the exponent of a rank. */
    public static final String ZIPFIAN_CONSTANT = "zipfianconstant";
    public static final String DELETE_PROPORTION = "deleteproportion";
    /** The number of this client of the run, from 0, and how many there are: a client inserts every so many-th key. */
    public static final String CLIENT_NUMBER = "client.number";
    public static final String CLIENT_COUNT = "client.count";
    /** The first key that any client inserts; absent: the one behind the loaded records. */
    public static final String FIRST_INSERT = "insert.first";
    /** A distribution of this class: the ranks of a true Zipf distribution over the records. */
    static final String EXACT = "exactzipfian";
    private static final String DELETE = "DELETE";

    private final ThreadLocal<Boolean> inserted = ThreadLocal.withInitial(() -> false);
    private InsertedRecords records;

    /** Whether a run needs this class; any other is run by YCSB's own. */
    public static boolean isNeeded(Properties properties) {
        boolean inserts = number(properties, INSERT_PROPORTION_PROPERTY) > 0;
        return properties.containsKey(ZIPFIAN_CONSTANT)
            || EXACT.equals(properties.getProperty(REQUEST_DISTRIBUTION_PROPERTY))
            || number(properties, DELETE_PROPORTION) > 0
            || inserts && (whole(properties, CLIENT_COUNT, 1) > 1 || properties.containsKey(FIRST_INSERT));
    }

    @Override
    public void init(Properties properties) throws WorkloadException {
        String distribution = properties.getProperty(REQUEST_DISTRIBUTION_PROPERTY);
        Properties ycsb = properties;
        if (EXACT.equals(distribution)) {
            ycsb = new Properties();
            ycsb.putAll(properties);
            ycsb.setProperty(REQUEST_DISTRIBUTION_PROPERTY, "uniform");
        }
        super.init(ycsb);
        records = new InsertedRecords(transactioninsertkeysequence, recordcount,
            whole(properties, FIRST_INSERT, recordcount), whole(properties, CLIENT_NUMBER, 0),
            whole(properties, CLIENT_COUNT, 1));
        double deletes = number(properties, DELETE_PROPORTION);
        if (deletes > 0) {
            operationchooser.addValue(deletes, DELETE);
        }
        keychooser = chooser(properties, distribution);
        transactioninsertkeysequence = new InsertSequence();
    }

    private NumberGenerator chooser(Properties properties, String distribution) throws WorkloadException {
        if (EXACT.equals(distribution)) {
            return new ExactZipfian(Double.parseDouble(properties.getProperty(ZIPFIAN_CONSTANT, "0.99")));
        }
        if (properties.containsKey(ZIPFIAN_CONSTANT)) {
            if (!(keychooser instanceof ScrambledZipfianGenerator)) {
                throw new WorkloadException(ZIPFIAN_CONSTANT + " needs requestdistribution=zipfian or " + EXACT);
            }
            // As CoreWorkload has them: twice the inserts that the count of operations would make.
            long expected = (long) (Integer.parseInt(properties.getProperty("operationcount"))
                * number(properties, INSERT_PROPORTION_PROPERTY) * 2.0);
            return new Slots(new ScrambledRanks(
                recordcount + expected, Double.parseDouble(properties.getProperty(ZIPFIAN_CONSTANT))));
        }
        if (keychooser instanceof ScrambledZipfianGenerator) {
            return new Slots(keychooser);
        }
        if (keychooser instanceof SkewedLatestGenerator) {
            // YCSB's own counts acknowledged inserts. Another one adds up a term for each record once more.
            boolean deletes = number(properties, DELETE_PROPORTION) > 0;
            return new Positions(deletes ? new SkewedLatestGenerator(new Newest()) : keychooser);
        }
        if (keychooser instanceof ExponentialGenerator) {
            return new FromNewest(keychooser);
        }
        return keychooser;
    }

    @Override
    public boolean doTransaction(DB db, Object thread) {
        execute(db, chooseOperation());
        return true;
    }

    @Override
    void execute(DB db, String operation) {
        if (DELETE.equals(operation)) {
            doTransactionDelete(db);
        } else {
            super.execute(db, operation);
        }
    }

    /** A record is there for later operations once the database has acknowledged it; YCSB takes failed ones for there. */
    @Override
    public void doTransactionInsert(DB db) {
        inserted.set(false);
        super.doTransactionInsert(new InsertWatch(db));
    }

    /** Deletes the oldest record that this client has inserted; inserts one where there is none. */
    private void doTransactionDelete(DB db) {
        long key = records.takeOldest();
        if (key < 0) {
            doTransactionInsert(db);
        } else {
            db.delete(table, buildKeyName(key));
        }
    }

    private static double number(Properties properties, String name) {
        return Double.parseDouble(properties.getProperty(name, "0"));
    }

    private static long whole(Properties properties, String name, long fallback) {
        return Long.parseLong(properties.getProperty(name, Long.toString(fallback)));
    }

    /** Notes in the thread whether an insert succeeded; CoreWorkload does not say. */
    private final class InsertWatch extends DB {
        private final DB db;

        InsertWatch(DB db) {
            this.db = db;
        }

        @Override
        public Status insert(String table, String key, Map<String, ByteIterator> values) {
            Status status = db.insert(table, key, values);
            inserted.set(status != null && status.isOk());
            return status;
        }

        @Override
        public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Status scan(
            String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
        ) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Status update(String table, String key, Map<String, ByteIterator> values) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Status delete(String table, String key) {
            throw new UnsupportedOperationException();
        }
    }

    /** The keys that this client inserts, for CoreWorkload, which compares the keys that it draws with the last one. */
    private final class InsertSequence extends AcknowledgedCounterGenerator {
        InsertSequence() {
            super(0);
        }

        @Override
        public Long nextValue() {
            return records.next();
        }

        @Override
        public void acknowledge(long key) {
            records.end(key, inserted.get());
        }

        @Override
        public Long lastValue() {
            return Long.MAX_VALUE;
        }
    }

    /** The position of the newest record; the number of records changes. */
    private final class Newest extends CounterGenerator {
        Newest() {
            super(0);
        }

        @Override
        public Long lastValue() {
            return records.count() - 1;
        }
    }

    /** Keys by positions among the records that are there. */
    private class Positions extends NumberGenerator {
        final NumberGenerator positions;

        Positions(NumberGenerator positions) {
            this.positions = positions;
        }

        long nextPosition() {
            return positions.nextValue().longValue();
        }

        @Override
        public Long nextValue() {
            return records.keyAt(nextPosition());
        }

        @Override
        public double mean() {
            throw new UnsupportedOperationException();
        }
    }

    /** Keys by how far they are from the newest record. */
    private final class FromNewest extends Positions {
        FromNewest(NumberGenerator distances) {
            super(distances);
        }

        @Override
        long nextPosition() {
            long position;
            do {
                position = records.count() - 1 - positions.nextValue().longValue();
            } while (position < 0);
            return position;
        }
    }

    /** Keys by places that never move, as YCSB's zipfian has them: some are not taken yet, or no more. */
    private final class Slots extends Positions {
        Slots(NumberGenerator slots) {
            super(slots);
        }

        @Override
        public Long nextValue() {
            long key;
            do {
                key = records.keyInSlot(nextPosition());
            } while (key < 0);
            return key;
        }
    }

    /** Keys whose ranks have a true Zipf distribution. Loaded records keep their ranks, new ones are the least popular. */
    private final class ExactZipfian extends Positions {
        private final ZipfSampler ranks;
        private final Scatter scatter = new Scatter(recordcount);

        ExactZipfian(double exponent) {
            super(null);
            ranks = new ZipfSampler(exponent);
        }

        @Override
        long nextPosition() {
            long rank = ranks.sample(records.count());
            return rank < recordcount ? scatter.apply(rank) : rank;
        }
    }
}
