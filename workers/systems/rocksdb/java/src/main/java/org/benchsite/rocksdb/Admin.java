package org.benchsite.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;

import org.benchsite.ycsb.AdminProgram;
import org.benchsite.ycsb.Settings;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteOptions;
import site.ycsb.DBException;

/**
 * The administration of a data folder between clients: one process at a time can have it open, so each call opens and
 * closes it.
 *
 * <p>The marker of a data set is a record of the column family "benchsite".
 */
public final class Admin extends AdminProgram {
    private static final byte[] MARKER = "data-set".getBytes(UTF_8);

    private final Settings settings;

    private Admin(Address address) {
        Properties properties = new Properties();
        properties.putAll(address.properties);
        try {
            settings = new Settings(RocksdbDB.DECLARED, properties);
        } catch (DBException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    public static void main(String[] args) throws IOException {
        serve(Admin::new);
    }

    @Override
    protected void connect() {
        // Each call opens the folder itself, and those that a client must not disturb do not.
    }

    @Override
    protected void ping() throws RocksDBException, IOException {
        new Database(settings).close();
    }

    @Override
    protected void prepare(Map<String, String> schema) throws RocksDBException, IOException {
        ping();
    }

    @Override
    protected String serverVersion() {
        return RocksDB.rocksdbVersion().toString();
    }

    @Override
    protected String dataFolder() {
        return settings.text("rocksdb.dir");
    }

    /** Modes are options of each write, which the client states. */
    @Override
    protected Map<String, String> readSettings(List<String> names) {
        return Map.of();
    }

    @Override
    protected int replicas() {
        return 0;
    }

    @Override
    protected Map<String, String> topology() {
        return Map.of("version", serverVersion());
    }

    @Override
    protected String content(String table) throws RocksDBException, IOException {
        try (Database database = new Database(settings); RocksIterator records = database.db.newIterator()) {
            records.seekToFirst();
            return records.isValid() ? "the record " + new String(records.key(), UTF_8) : "";
        }
    }

    @Override
    protected long size(String table) throws RocksDBException, IOException {
        long size = 0;
        try (Database database = new Database(settings); RocksIterator records = database.db.newIterator()) {
            for (records.seekToFirst(); records.isValid(); records.next()) {
                size++;
            }
            records.status();
        }
        return size;
    }

    @Override
    protected String readMarker(String table) throws RocksDBException, IOException {
        try (Database database = new Database(settings)) {
            return marker(database);
        }
    }

    private static String marker(Database database) throws RocksDBException {
        byte[] marker = database.db.get(database.markers, MARKER);
        return marker == null ? "" : new String(marker, UTF_8);
    }

    /** Nobody else has the folder open between the look and the write. */
    @Override
    protected boolean writeMarker(String table, String marker, String replaces, List<String> fields)
        throws RocksDBException, IOException {
        try (Database database = new Database(settings); WriteOptions forced = new WriteOptions().setSync(true)) {
            if (!marker(database).equals(replaces)) {
                return false;
            }
            database.db.put(database.markers, forced, MARKER, marker.getBytes(UTF_8));
            return true;
        }
    }

    @Override
    protected boolean createTable(String table, List<String> fields, String marker) {
        return false;
    }

    @Override
    protected boolean dropEmptyTable(String table) throws RocksDBException, IOException {
        if (size(table) > 0 || readMarker(table).isEmpty()) {
            return false;
        }
        try (Database database = new Database(settings)) {
            database.db.delete(database.markers, MARKER);
        }
        return true;
    }

    @Override
    protected long countKeys(String table, List<String> keys) throws RocksDBException, IOException {
        try (Database database = new Database(settings)) {
            return present(database, keys).size();
        }
    }

    @Override
    protected long deleteKeys(String table, List<String> keys) throws RocksDBException, IOException {
        try (Database database = new Database(settings)) {
            List<byte[]> present = present(database, keys);
            for (byte[] key : present) {
                database.db.delete(key);
            }
            return present.size();
        }
    }

    private static List<byte[]> present(Database database, List<String> keys) throws RocksDBException {
        List<byte[]> present = new ArrayList<>();
        for (String key : keys) {
            byte[] bytes = RocksdbDB.bytes(key);
            if (database.db.get(bytes) != null) {
                present.add(bytes);
            }
        }
        return present;
    }
}
