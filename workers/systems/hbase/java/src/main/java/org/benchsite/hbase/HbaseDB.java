package org.benchsite.hbase;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.net.ConnectException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;

import benchsite.Start;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.HBaseServerException;
import org.apache.hadoop.hbase.NotServingRegionException;
import org.apache.hadoop.hbase.PleaseHoldException;
import org.apache.hadoop.hbase.RegionTooBusyException;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.exceptions.ConnectionClosedException;
import org.apache.hadoop.hbase.ipc.FailedServerException;
import org.apache.hadoop.hbase.ipc.ServerNotRunningYetException;
import org.apache.hadoop.hbase.quotas.RpcThrottlingException;
import org.apache.hadoop.hbase.security.AccessDeniedException;
import org.apache.hadoop.hbase.util.Bytes;
import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.Property;
import org.benchsite.ycsb.Settings;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.Status;

/**
 * HBase, one row per record in a table that exists already, with one column per field in one column family.
 *
 * <p>All threads of the process share one connection of the driver. Every write states its own durability. A write never
 * says whether there was a row, so that updates and deletes of keys that are not there succeed. With
 * {@code hbase.write_buffer_kb} writes succeed before they are sent.
 */
public final class HbaseDB extends BenchsiteDB {
    static final List<Property> DECLARED = List.of(
        Property.text("hbase.hosts", "127.0.0.1"),
        Property.whole("hbase.port", 2181, 1, 65_535),
        Property.text("hbase.znode", "/hbase"),
        Property.text("hbase.family", "family"),
        Property.whole("hbase.splits", 0, 0, 8000),
        Property.text("hbase.user", ""),
        Property.choice("hbase.durability", "USE_DEFAULT", "USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL",
            "FSYNC_WAL"),
        Property.whole("hbase.write_buffer_kb", 0, 0, 1_048_576),
        Property.whole("hbase.connections", 1, 1, 64),
        Property.whole("hbase.timeout_ms", 10_000, 1000, 3_600_000),
        Property.choice("hbase.tls", "disable", "disable", "verify-ca", "verify-full"),
        Property.text("hbase.tls.ca", ""),
        Property.text("hbase.tls.certificate", ""),
        Property.text("hbase.tls.key", ""));

    private final Map<String, Table> tables = new HashMap<>();
    private final Map<String, BufferedMutator> buffers = new HashMap<>();
    private final Map<String, byte[]> names = new HashMap<>();
    private SharedConnection shared;
    private byte[] family;
    private Durability durability;
    private boolean buffering;

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    /** The driver connects its sockets again by itself. */
    @Override
    protected void connect(Settings given) throws IOException {
        family = bytes(given.text("hbase.family"));
        durability = Durability.valueOf(given.text("hbase.durability"));
        buffering = given.whole("hbase.write_buffer_kb") > 0;
        if (shared == null) {
            shared = SharedConnection.acquire(given);
        }
    }

    @Override
    protected void disconnect() {
        tables.clear();
        try {
            for (BufferedMutator buffer : buffers.values()) {
                buffer.close();
            }
        } catch (IOException e) {
            // They have been counted as written.
            Start.giveUp("the writes of a buffer were not sent: " + Failure.describe(e));
        }
        buffers.clear();
    }

    @Override
    protected void release() {
        if (shared != null) {
            shared.release();
            shared = null;
        }
    }

    /** Only where a server accepts no connection, a thread pauses before it goes on. */
    @Override
    protected Failure classify(Exception thrown) {
        if (thrown instanceof RetriesExhaustedWithDetailsException) {
            Throwable first = ((RetriesExhaustedWithDetailsException) thrown).getCause(0);
            return classify(first instanceof Exception ? (Exception) first : new IOException(first));
        }
        String message = describe(thrown);
        if (thrown instanceof IllegalArgumentException) {
            return Failure.lasting(Status.BAD_REQUEST, message);
        }
        if (has(thrown, AccessDeniedException.class)) {
            return Failure.lasting(Status.FORBIDDEN, message);
        }
        if (has(thrown, HBaseServerException.class, NotServingRegionException.class, PleaseHoldException.class,
            RegionTooBusyException.class, RpcThrottlingException.class, ServerNotRunningYetException.class)) {
            return Failure.passing(Status.SERVICE_UNAVAILABLE, message);
        }
        if (has(thrown, ConnectException.class, FailedServerException.class, ConnectionClosedException.class)) {
            return Failure.broken(message);
        }
        if (has(thrown, DoNotRetryIOException.class)) {
            return Failure.lasting(Status.BAD_REQUEST, message);
        }
        return Failure.passing(Status.ERROR, message);
    }

    /** The first line of what caused it all: the driver's own message has every attempt with the server's stack trace. */
    static String describe(Throwable thrown) {
        Throwable cause = thrown;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return Failure.describe(cause).split(" at (org|java)\\.", 2)[0];
    }

    /** Whether the exception or what caused it is of one of these classes. */
    private static boolean has(Throwable thrown, Class<?>... classes) {
        for (Throwable each = thrown; each != null; each = each.getCause()) {
            for (Class<?> type : classes) {
                if (type.isInstance(each)) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    protected Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result)
        throws IOException {
        Get get = new Get(bytes(key));
        if (fields == null) {
            get.addFamily(family);
        } else {
            fields.forEach(field -> get.addColumn(family, name(field)));
        }
        Result row = table(table).get(get);
        takeRow(row, result);
        return row.isEmpty() ? Status.NOT_FOUND : Status.OK;
    }

    @Override
    protected Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) throws IOException {
        Scan scan = new Scan().withStartRow(bytes(startKey)).setLimit(count).setCaching(count);
        if (fields == null) {
            scan.addFamily(family);
        } else {
            fields.forEach(field -> scan.addColumn(family, name(field)));
        }
        try (ResultScanner rows = table(table).getScanner(scan)) {
            for (Result row : rows) {
                HashMap<String, ByteIterator> fieldsOfRow = new HashMap<>();
                takeRow(row, fieldsOfRow);
                result.add(fieldsOfRow);
            }
        }
        return Status.OK;
    }

    @Override
    protected Status tryUpdate(String table, String key, Map<String, byte[]> values) throws IOException {
        Put put = new Put(bytes(key));
        values.forEach((field, value) -> put.addColumn(family, name(field), value));
        put.setDurability(durability);
        if (buffering) {
            buffer(table, put);
        } else {
            table(table).put(put);
        }
        return Status.OK;
    }

    @Override
    protected Status tryInsert(String table, String key, Map<String, byte[]> values) throws IOException {
        return tryUpdate(table, key, values);
    }

    @Override
    protected Status tryDelete(String table, String key) throws IOException {
        Delete delete = new Delete(bytes(key)).addFamily(family);
        delete.setDurability(durability);
        if (buffering) {
            buffer(table, delete);
        } else {
            table(table).delete(delete);
        }
        return Status.OK;
    }

    private Table table(String name) throws IOException {
        Table table = tables.get(name);
        if (table == null) {
            table = shared.connection.getTable(TableName.valueOf(name));
            tables.put(name, table);
        }
        return table;
    }

    private void buffer(String table, Mutation mutation) throws IOException {
        BufferedMutator buffer = buffers.get(table);
        if (buffer == null) {
            buffer = shared.connection.getBufferedMutator(TableName.valueOf(table));
            buffers.put(table, buffer);
        }
        buffer.mutate(mutation);
    }

    private static void takeRow(Result row, Map<String, ByteIterator> result) {
        if (row.isEmpty()) {
            return;
        }
        for (Cell cell : row.rawCells()) {
            result.put(Bytes.toString(cell.getQualifierArray(), cell.getQualifierOffset(), cell.getQualifierLength()),
                new ByteArrayByteIterator(CellUtil.cloneValue(cell)));
        }
    }

    /** Names of fields are few and come again with every operation. */
    private byte[] name(String field) {
        return names.computeIfAbsent(field, HbaseDB::bytes);
    }

    static byte[] bytes(String text) {
        return text.getBytes(ISO_8859_1);
    }
}
