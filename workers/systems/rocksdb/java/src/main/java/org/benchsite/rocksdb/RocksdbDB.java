package org.benchsite.rocksdb;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;

import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.Property;
import org.benchsite.ycsb.Record;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Shared;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Status.Code;
import org.rocksdb.WriteOptions;
import site.ycsb.ByteIterator;
import site.ycsb.Status;

/**
 * RocksDB inside this process, one value for each record under the record's key.
 *
 * <p>All threads share the open data folder. An update reads the record and writes it with the new fields, under a lock of
 * its key, so that no field of another thread's update is lost; one of every field does not read.
 */
public final class RocksdbDB extends BenchsiteDB {
    static final List<Property> DECLARED = List.of(
        Property.text("rocksdb.dir", ""),
        Property.flag("rocksdb.sync", false),
        Property.flag("rocksdb.disable_wal", false),
        Property.whole("rocksdb.cache_mb", 32, 1, 1_048_576),
        Property.whole("rocksdb.write_buffer_mb", 64, 1, 65_536),
        Property.whole("rocksdb.max_background_jobs", 2, 1, 128),
        Property.choice("rocksdb.compression", "snappy", "none", "snappy", "lz4", "zstd"));
    private static final Shared<Database> SHARED = new Shared<>();
    private static final Object[] LOCKS = new Object[1024];

    static {
        Arrays.setAll(LOCKS, number -> new Object());
    }

    private Database database;
    private WriteOptions writing;
    private int fieldsOfRecord;

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected void connect(Settings given) throws Exception {
        database = SHARED.acquire(() -> new Database(given));
        writing = new WriteOptions().setSync(given.flag("rocksdb.sync")).setDisableWAL(given.flag("rocksdb.disable_wal"));
        fieldsOfRecord = Integer.parseInt(getProperties().getProperty("fieldcount", "10"));
    }

    @Override
    protected void disconnect() {
        if (database != null) {
            Database closing = database;
            database = null;
            writing.close();
            SHARED.release(closing::close);
        }
    }

    @Override
    protected Failure classify(Exception thrown) {
        String message = Failure.describe(thrown);
        if (thrown instanceof IllegalArgumentException) {
            return Failure.lasting(Status.BAD_REQUEST, message);
        }
        org.rocksdb.Status status = thrown instanceof RocksDBException ? ((RocksDBException) thrown).getStatus() : null;
        boolean passes = status != null
            && (status.getCode() == Code.Busy || status.getCode() == Code.TryAgain || status.getCode() == Code.TimedOut);
        return passes
            ? Failure.passing(Status.SERVICE_UNAVAILABLE, message)
            : Failure.lasting(Status.ERROR, message);
    }

    @Override
    protected Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result)
        throws RocksDBException {
        byte[] value = database.db.get(bytes(key));
        if (value == null) {
            return Status.NOT_FOUND;
        }
        Record.read(value, fields, result);
        return Status.OK;
    }

    @Override
    protected Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) throws RocksDBException {
        try (RocksIterator records = database.db.newIterator()) {
            records.seek(bytes(startKey));
            for (; records.isValid() && result.size() < count; records.next()) {
                HashMap<String, ByteIterator> row = new HashMap<>();
                Record.read(records.value(), fields, row);
                result.add(row);
            }
            records.status();
        }
        return Status.OK;
    }

    @Override
    protected Status tryUpdate(String table, String key, Map<String, byte[]> values) throws RocksDBException {
        byte[] keyBytes = bytes(key);
        synchronized (LOCKS[Math.floorMod(key.hashCode(), LOCKS.length)]) {
            if (values.size() >= fieldsOfRecord) {
                database.db.put(writing, keyBytes, Record.encode(values));
                return Status.OK;
            }
            byte[] value = database.db.get(keyBytes);
            if (value == null) {
                return Status.NOT_FOUND;
            }
            database.db.put(writing, keyBytes, Record.merge(value, values));
            return Status.OK;
        }
    }

    @Override
    protected Status tryInsert(String table, String key, Map<String, byte[]> values) throws RocksDBException {
        database.db.put(writing, bytes(key), Record.encode(values));
        return Status.OK;
    }

    /** Without a look whether the record is there. */
    @Override
    protected Status tryDelete(String table, String key) throws RocksDBException {
        synchronized (LOCKS[Math.floorMod(key.hashCode(), LOCKS.length)]) {
            database.db.delete(writing, bytes(key));
        }
        return Status.OK;
    }

    static byte[] bytes(String text) {
        return text.getBytes(ISO_8859_1);
    }
}
