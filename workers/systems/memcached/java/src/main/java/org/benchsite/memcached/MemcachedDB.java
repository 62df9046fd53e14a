package org.benchsite.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;

import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.OperationFailed;
import org.benchsite.ycsb.Property;
import org.benchsite.ycsb.Record;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * memcached, one item per record under the record's key.
 *
 * <p>An update of some fields reads the item and writes it by compare-and-set, so that no field of another thread's update
 * is lost; with {@code memcached.update=replace}, or if it writes every field, it replaces the item in one step. With
 * {@code memcached.noreply} nothing is known of a write but that it was sent.
 */
public final class MemcachedDB extends BenchsiteDB {
    static final List<Property> DECLARED = declare();
    private static final String NOREPLY = "noreply";

    private Servers servers;
    private boolean noreply;
    private boolean merges;
    private int fieldsOfRecord;

    private static List<Property> declare() {
        List<Property> declared = new ArrayList<>(List.of(
            Property.text("memcached.hosts", "127.0.0.1"),
            Property.whole("memcached.port", 11_211, 1, 65_535),
            Property.text("memcached.user", "ycsb"),
            Property.text("memcached.password", ""),
            Property.whole("memcached.timeout_ms", 10_000, 1, 3_600_000),
            Property.choice("memcached.update", "merge", "merge", "replace"),
            Property.flag("memcached.noreply", false)));
        declared.addAll(Tls.properties("memcached"));
        return List.copyOf(declared);
    }

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected void connect(Settings given) throws DBException, IOException, GeneralSecurityException {
        if (Double.parseDouble(getProperties().getProperty("scanproportion", "0")) > 0) {
            throw new DBException("memcached has no ordered keys, so it cannot run a workload that scans");
        }
        noreply = given.flag("memcached.noreply");
        merges = given.text("memcached.update").equals("merge");
        fieldsOfRecord = Integer.parseInt(getProperties().getProperty("fieldcount", "10"));
        servers = new Servers(given);
        for (int server = 0; server < servers.count(); server++) {
            servers.get(server);
        }
    }

    @Override
    protected void disconnect() {
        if (servers != null) {
            servers.close();
        }
    }

    @Override
    protected Failure classify(Exception thrown) {
        String message = Failure.describe(thrown);
        if (thrown instanceof Connection.Refused) {
            return refused(message);
        }
        if (thrown instanceof IllegalArgumentException) {
            return Failure.lasting(Status.BAD_REQUEST, message);
        }
        return Failure.broken(thrown.getClass().getSimpleName() + ": " + message);
    }

    private Failure refused(String line) {
        if (line.contains("authenticat")) {
            return Failure.lasting(Status.FORBIDDEN, line);
        }
        if (line.startsWith("SERVER_ERROR object too large")) {
            return Failure.lasting(Status.BAD_REQUEST, line);
        }
        if (line.startsWith("SERVER_ERROR")) {
            return Failure.passing(Status.SERVICE_UNAVAILABLE, line);
        }
        // Behind a command that it does not understand, the server may take data for commands.
        disconnect();
        return Failure.lasting(Status.BAD_REQUEST, line);
    }

    @Override
    protected Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result)
        throws IOException, GeneralSecurityException {
        byte[] bytes = Servers.bytes(key);
        Connection.Item item = servers.of(key).get("get", bytes);
        if (item == null) {
            return Status.NOT_FOUND;
        }
        Record.read(item.value, fields, result);
        return Status.OK;
    }

    @Override
    protected Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) throws OperationFailed {
        throw new OperationFailed(Failure.lasting(Status.NOT_IMPLEMENTED, "memcached has no ordered keys"));
    }

    @Override
    protected Status tryUpdate(String table, String key, Map<String, byte[]> values)
        throws IOException, GeneralSecurityException {
        byte[] bytes = Servers.bytes(key);
        Connection connection = servers.of(key);
        if (!merges || values.size() >= fieldsOfRecord) {
            return stored(connection.store("replace", bytes, Record.encode(values), noreply ? NOREPLY : ""));
        }
        while (true) {
            Connection.Item item = connection.get("gets", bytes);
            if (item == null) {
                return Status.NOT_FOUND;
            }
            byte[] record = Record.merge(item.value, values);
            String answer = noreply
                ? connection.store("replace", bytes, record, NOREPLY)
                : connection.store("cas", bytes, record, item.cas);
            // Another thread that was quicker has written its own fields, which must not be lost.
            if (!answer.equals("EXISTS")) {
                return stored(answer);
            }
        }
    }

    @Override
    protected Status tryInsert(String table, String key, Map<String, byte[]> values)
        throws IOException, GeneralSecurityException, OperationFailed {
        byte[] bytes = Servers.bytes(key);
        String answer = servers.of(key).store("add", bytes, Record.encode(values), noreply ? NOREPLY : "");
        if (answer.equals("NOT_STORED")) {
            throw new OperationFailed(Failure.alreadyThere("an item with this key is there already"));
        }
        return stored(answer);
    }

    @Override
    protected Status tryDelete(String table, String key) throws IOException, GeneralSecurityException {
        String command = "delete " + new String(Servers.bytes(key), ISO_8859_1);
        if (noreply) {
            servers.of(key).sendOnly(command + " " + NOREPLY);
            return Status.OK;
        }
        String answer = servers.of(key).command(command);
        if (!answer.equals("DELETED") && !answer.equals("NOT_FOUND")) {
            throw new Connection.Refused(answer);
        }
        return answer.equals("DELETED") ? Status.OK : Status.NOT_FOUND;
    }

    private static Status stored(String answer) {
        switch (answer) {
            case "STORED":
                return Status.OK;
            case "NOT_STORED":
            case "NOT_FOUND":
                return Status.NOT_FOUND;
            default:
                throw new Connection.Refused(answer);
        }
    }
}
