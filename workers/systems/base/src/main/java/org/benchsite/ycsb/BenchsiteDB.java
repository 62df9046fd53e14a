package org.benchsite.ycsb;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;

import benchsite.Start;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * What every binding shares: declared properties, retries, reconnection, and errors that are mapped and counted.
 *
 * <p>A binding says how one attempt at each operation is made (the try... methods) and what an exception of its driver
 * means (classify). One instance belongs to one thread of YCSB and holds one connection. An operation that is retried
 * counts once, and its latency, which YCSB measures around these methods, includes the attempts and the waits between.
 */
public abstract class BenchsiteDB extends DB {
    private static final String NO_SUCH_ROW = "there is no record with this key";
    private static final List<Property> SHARED = shared();

    private final int[] retries = new int[Operation.values().length];
    private long retryDelayMs;
    private long reconnectDelayMs;
    private int reconnectBelowOpsS;
    private int falls;
    private Settings settings;
    private boolean connected;
    private AcknowledgedWrites ledger;

    /** The properties of the binding itself; the shared ones (benchsite.*) are added to them. */
    protected abstract List<Property> declared();

    /** Opens the connection. Whatever it throws goes through {@link #classify}. */
    protected abstract void connect(Settings given) throws Exception;

    /** Closes the connection, which may be broken or never have been opened; throws nothing. */
    protected abstract void disconnect();

    /** Ends the use of what threads share, behind the last operation; throws nothing. */
    protected void release() {
    }

    /** What an exception of the driver means. */
    protected abstract Failure classify(Exception thrown);

    /** The server's own code of an error, else the name of the exception; without blanks. */
    protected String errorCode(Exception thrown) {
        return thrown.getClass().getSimpleName();
    }

    protected abstract Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result)
        throws Exception;

    protected abstract Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) throws Exception;

    protected abstract Status tryUpdate(String table, String key, Map<String, byte[]> values) throws Exception;

    protected abstract Status tryInsert(String table, String key, Map<String, byte[]> values) throws Exception;

    protected abstract Status tryDelete(String table, String key) throws Exception;

    /** One attempt at an operation. */
    private interface Attempt {
        Status make() throws Exception;
    }

    @Override
    public final void init() throws DBException {
        try {
            settings = new Settings(allDeclared(), getProperties());
            for (Operation operation : Operation.values()) {
                retries[operation.ordinal()] = settings.whole(operation.retriesProperty());
            }
            retryDelayMs = settings.whole("benchsite.retry.delay_ms");
            reconnectDelayMs = settings.whole("benchsite.reconnect.delay_ms");
            reconnectBelowOpsS = settings.whole("benchsite.reconnect.below_ops_s");
            ledger = AcknowledgedWrites.open();
            connect(settings);
            connected = true;
        } catch (Exception e) {
            disconnect();
            // YCSB would go on with one thread fewer and still report success.
            Start.giveUp("a thread could not connect: " + Failure.describe(e));
            throw e instanceof DBException ? (DBException) e : new DBException(Failure.describe(e), e);
        }
    }

    @Override
    public final void cleanup() {
        disconnect();
        release();
        connected = false;
        if (ledger != null) {
            ledger.close();
        }
    }

    @Override
    public final Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
        return attempt(Operation.READ, () -> {
            result.clear();
            return tryRead(table, key, fields, result);
        });
    }

    @Override
    public final Status scan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) {
        return attempt(Operation.SCAN, () -> {
            result.clear();
            return tryScan(table, startKey, count, fields, result);
        });
    }

    @Override
    public final Status update(String table, String key, Map<String, ByteIterator> values) {
        Map<String, byte[]> bytes = bytes(values);
        return write(Operation.UPDATE, key, bytes, () -> tryUpdate(table, key, bytes));
    }

    @Override
    public final Status insert(String table, String key, Map<String, ByteIterator> values) {
        Map<String, byte[]> bytes = bytes(values);
        return write(Operation.INSERT, key, bytes, () -> tryInsert(table, key, bytes));
    }

    @Override
    public final Status delete(String table, String key) {
        return write(Operation.DELETE, key, Map.of(), () -> tryDelete(table, key));
    }

    /** The version of a whole record as {@link #read} returned it; -1 where it is damaged. */
    public static long versionOf(String key, Map<String, ByteIterator> record) {
        long version = 0;
        for (ByteIterator value : record.values()) {
            long each = VersionedValue.version(key, value.toArray());
            if (each < 0 || (version != 0 && version != each)) {
                return -1;
            }
            version = each;
        }
        return version;
    }

    /** Names and defaults of every property this binding knows. */
    public final Map<String, String> properties() {
        Map<String, String> names = new LinkedHashMap<>();
        allDeclared().forEach(property -> names.put(property.name, property.fallback));
        return names;
    }

    /** A write, with its line in the ledger where the process keeps one. */
    private Status write(Operation operation, String key, Map<String, byte[]> values, Attempt attempt) {
        if (ledger == null) {
            return attempt(operation, attempt);
        }
        long version;
        try {
            version = values.isEmpty() ? 0 : AcknowledgedWrites.stamp(key, values);
        } catch (OperationFailed e) {
            Ledger.SHARED.failed(operation, e.failure.status, e.failure.message);
            return e.failure.status;
        }
        long sentMicros = Clock.epochMicros();
        Status status = attempt(operation, attempt);
        if (status.isOk()) {
            ledger.add(key, version, sentMicros);
        }
        return status;
    }

    private Status attempt(Operation operation, Attempt attempt) {
        boolean outcomeUnknown = false;
        if (reconnectBelowOpsS > 0) {
            reconnectWhereSlow();
        }
        for (int left = retries[operation.ordinal()];; left--) {
            Failure failure;
            String code = "";
            try {
                reconnectIfBroken();
                Status status = attempt.make();
                if (status.equals(Status.NOT_FOUND)) {
                    Ledger.SHARED.failed(operation, status, NO_SUCH_ROW);
                }
                return status;
            } catch (OperationFailed e) {
                failure = e.failure;
            } catch (Exception e) {
                failure = classify(e);
                code = errorCode(e);
            }
            if (outcomeUnknown && failure.alreadyThere) {
                // The connection broke after the server had done the insert: it was an earlier attempt that succeeded.
                return Status.OK;
            }
            if (failure.broken) {
                disconnect();
                connected = false;
                outcomeUnknown = true;
            }
            if (left <= 0 || !failure.passing) {
                Ledger.SHARED.failed(operation, failure.status, failure.message);
                Ledger.SHARED.answered(operation, failure.status, code);
                return failure.status;
            }
            Ledger.SHARED.retried(operation);
            pause(retryDelayMs);
        }
    }

    /** Closes the connection where the process did fewer operations in the last second than it should. */
    private void reconnectWhereSlow() {
        int counted = ThroughputWatch.SHARED.count(reconnectBelowOpsS);
        if (counted != falls) {
            falls = counted;
            disconnect();
            connected = false;
        }
    }

    private void reconnectIfBroken() throws OperationFailed {
        if (connected) {
            return;
        }
        try {
            connect(settings);
            connected = true;
            Ledger.SHARED.reconnected();
        } catch (Exception e) {
            disconnect();
            // A server that is gone refuses at once: without a pause the failed operations would number thousands.
            pause(reconnectDelayMs);
            throw new OperationFailed(Failure.broken("no connection: " + Failure.describe(e)));
        }
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** YCSB's values can be read once only, and a retry needs them again. */
    private static Map<String, byte[]> bytes(Map<String, ByteIterator> values) {
        Map<String, byte[]> bytes = new LinkedHashMap<>(values.size() * 2);
        for (Map.Entry<String, ByteIterator> entry : values.entrySet()) {
            bytes.put(entry.getKey(), entry.getValue().toArray());
        }
        return bytes;
    }

    private List<Property> allDeclared() {
        List<Property> all = new ArrayList<>(declared());
        all.addAll(SHARED);
        return all;
    }

    private static List<Property> shared() {
        List<Property> shared = new ArrayList<>();
        for (Operation operation : Operation.values()) {
            shared.add(Property.whole(operation.retriesProperty(), 0, 0, 1000));
        }
        shared.add(Property.whole("benchsite.retry.delay_ms", 0, 0, 60_000));
        shared.add(Property.whole("benchsite.reconnect.delay_ms", 100, 0, 60_000));
        shared.add(Property.whole("benchsite.reconnect.below_ops_s", 0, 0, Integer.MAX_VALUE));
        shared.add(Property.flag(IgnoringWorkload.PROPERTY, false));
        return List.copyOf(shared);
    }
}
