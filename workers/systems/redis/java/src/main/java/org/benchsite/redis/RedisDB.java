package org.benchsite.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.FieldNames;
import org.benchsite.ycsb.OperationFailed;
import org.benchsite.ycsb.Property;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.Protocol.Keyword;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisMovedDataException;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Redis, one hash per record under the record's key.
 *
 * <p>Redis has no ordered keys, so that scans need {@code redis.index=true}: then every insert also adds the key to the
 * sorted set "table:index", in which a scan finds the keys in lexicographic order. With {@code redis.wait.replicas} a
 * write succeeds only when so many replicas have acknowledged it in time. What belongs to one operation travels in one
 * round trip.
 *
 * <p>With {@code redis.cluster=true}, {@code redis.host} lists host:port of all masters, and commands go to the master of
 * their key's slot. The sorted set has one slot, so all its changes go to one master.
 */
public final class RedisDB extends BenchsiteDB {
    private static final List<Property> DECLARED = Stream.concat(Tls.properties("redis").stream(), Stream.of(
        Property.text("redis.host", "127.0.0.1"),
        Property.flag("redis.cluster", false),
        Property.whole("redis.port", 6379, 1, 65_535),
        Property.text("redis.user", ""),
        Property.text("redis.password", ""),
        Property.whole("redis.database", 0, 0, 10_000),
        Property.whole("redis.timeout_ms", 10_000, 1, 3_600_000),
        Property.flag("redis.index", false),
        Property.whole("redis.wait.replicas", 0, 0, 100),
        Property.whole("redis.wait.timeout_ms", 1_000, 1, 600_000))).collect(Collectors.toList());
    private static final byte[] ZERO = {'0'};
    private static final byte[] LAST = {'+'};

    private final Map<String, byte[]> names = new HashMap<>();
    private Servers servers;
    private boolean cluster;
    private boolean index;
    private int waitReplicas;
    private byte[][] waitArguments;

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected void connect(Settings given) throws DBException {
        index = given.flag("redis.index");
        if (!index && Double.parseDouble(getProperties().getProperty("scanproportion", "0")) > 0) {
            throw new DBException("this workload scans, and Redis has no ordered keys: set redis.index=true");
        }
        waitReplicas = given.whole("redis.wait.replicas");
        waitArguments = new byte[][] {
            bytes(given.text("redis.wait.replicas")), bytes(given.text("redis.wait.timeout_ms"))};
        int timeout = given.whole("redis.timeout_ms");
        if (waitReplicas > 0 && timeout <= given.whole("redis.wait.timeout_ms")) {
            throw new DBException("redis.timeout_ms must be longer than redis.wait.timeout_ms");
        }
        cluster = given.flag("redis.cluster");
        servers = cluster
            ? Servers.cluster(addresses(given.text("redis.host")), given)
            : Servers.single(new HostAndPort(given.text("redis.host"), given.whole("redis.port")), given);
    }

    private static List<HostAndPort> addresses(String nodes) throws DBException {
        try {
            return Arrays.stream(nodes.split(",")).map(HostAndPort::from).collect(Collectors.toList());
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            throw new DBException("redis.host must list host:port of all masters of the cluster: " + nodes);
        }
    }

    @Override
    protected void disconnect() {
        if (servers != null) {
            servers.close();
            servers = null;
        }
    }

    @Override
    protected String errorCode(Exception thrown) {
        return thrown instanceof JedisDataException ? Failure.describe(thrown).split(" ", 2)[0] : super.errorCode(thrown);
    }

    @Override
    protected Failure classify(Exception thrown) {
        if (thrown instanceof JedisConnectionException) {
            return Failure.broken(Failure.describe(thrown));
        }
        if (!(thrown instanceof JedisDataException)) {
            // After an error that is not the server's own, replies may be left unread on the connection.
            return Failure.broken(thrown.getClass().getSimpleName() + ": " + Failure.describe(thrown));
        }
        String message = Failure.describe(thrown);
        if (cluster && thrown instanceof JedisMovedDataException) {
            // The next attempt connects anew, and so asks the nodes for their slots.
            return Failure.broken(message);
        }
        switch (message.split(" ", 2)[0]) {
            case "NOAUTH":
            case "WRONGPASS":
            case "NOPERM":
                return Failure.lasting(Status.FORBIDDEN, message);
            case "WRONGTYPE":
                return Failure.lasting(Status.BAD_REQUEST, message);
            case "LOADING":
            case "BUSY":
            case "OOM":
            case "READONLY":
            case "MISCONF":
            case "MASTERDOWN":
            case "NOREPLICAS":
            case "CLUSTERDOWN":
            case "TRYAGAIN":
                return Failure.passing(Status.SERVICE_UNAVAILABLE, message);
            default:
                return Failure.passing(Status.ERROR, message);
        }
    }

    @Override
    protected Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
        sendRead(bytes(key), fields);
        takeRow(servers.replies().get(0), fields, result);
        return result.isEmpty() ? Status.NOT_FOUND : Status.OK;
    }

    @Override
    protected Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) throws OperationFailed {
        if (!index) {
            throw new OperationFailed(Failure.lasting(Status.NOT_IMPLEMENTED, "a scan needs redis.index=true"));
        }
        byte[] indexKey = name(table + ":index");
        byte[][] range = {indexKey, bytes("[" + startKey), LAST, Keyword.LIMIT.getRaw(), ZERO, bytes(String.valueOf(count))};
        servers.send(indexKey, Command.ZRANGEBYLEX, range);
        for (Object key : (List<?>) servers.replies().get(0)) {
            sendRead((byte[]) key, fields);
        }
        for (Object reply : servers.replies()) {
            HashMap<String, ByteIterator> row = new HashMap<>();
            takeRow(reply, fields, row);
            if (!row.isEmpty()) {
                result.add(row);
            }
        }
        return Status.OK;
    }

    @Override
    protected Status tryUpdate(String table, String key, Map<String, byte[]> values) throws OperationFailed {
        sendWrite(bytes(key), values);
        finishWrite();
        return Status.OK;
    }

    @Override
    protected Status tryInsert(String table, String key, Map<String, byte[]> values) throws OperationFailed {
        byte[] keyBytes = bytes(key);
        sendWrite(keyBytes, values);
        if (index) {
            byte[] indexKey = name(table + ":index");
            servers.send(indexKey, Command.ZADD, indexKey, ZERO, keyBytes);
        }
        finishWrite();
        return Status.OK;
    }

    @Override
    protected Status tryDelete(String table, String key) throws OperationFailed {
        byte[] keyBytes = bytes(key);
        servers.send(keyBytes, Command.DEL, keyBytes);
        if (index) {
            byte[] indexKey = name(table + ":index");
            servers.send(indexKey, Command.ZREM, indexKey, keyBytes);
        }
        List<Object> replies = finishWrite();
        return Long.valueOf(0).equals(replies.get(0)) ? Status.NOT_FOUND : Status.OK;
    }

    private void sendRead(byte[] key, Set<String> fields) {
        if (fields == null) {
            servers.send(key, Command.HGETALL, key);
            return;
        }
        byte[][] arguments = new byte[1 + fields.size()][];
        arguments[0] = key;
        int i = 1;
        for (String field : fields) {
            arguments[i++] = name(field);
        }
        servers.send(key, Command.HMGET, arguments);
    }

    /** HGETALL answers with names and values in turn, HMGET with values in the order asked, null for a missing one. */
    private static void takeRow(Object reply, Set<String> fields, Map<String, ByteIterator> row) {
        List<?> parts = (List<?>) reply;
        if (fields == null) {
            for (int i = 0; i + 1 < parts.size(); i += 2) {
                byte[] name = (byte[]) parts.get(i);
                row.put(FieldNames.decode(name, 0, name.length), new ByteArrayByteIterator((byte[]) parts.get(i + 1)));
            }
            return;
        }
        int i = 0;
        for (String field : fields) {
            byte[] value = (byte[]) parts.get(i++);
            if (value != null) {
                row.put(field, new ByteArrayByteIterator(value));
            }
        }
    }

    private void sendWrite(byte[] key, Map<String, byte[]> values) {
        byte[][] arguments = new byte[1 + 2 * values.size()][];
        arguments[0] = key;
        int i = 1;
        for (Map.Entry<String, byte[]> field : values.entrySet()) {
            arguments[i++] = name(field.getKey());
            arguments[i++] = field.getValue();
        }
        servers.send(key, Command.HSET, arguments);
    }

    /** Sends WAIT behind the commands where it is asked for, and reads the replies of all. */
    private List<Object> finishWrite() throws OperationFailed {
        if (waitReplicas == 0) {
            return servers.replies();
        }
        int asked = servers.sendToPending(Command.WAIT, waitArguments);
        List<Object> replies = servers.replies();
        for (Object acknowledged : replies.subList(replies.size() - asked, replies.size())) {
            if ((Long) acknowledged < waitReplicas) {
                throw new OperationFailed(Failure.passing(
                    Status.ERROR, acknowledged + " of " + waitReplicas + " replicas acknowledged the write in time"));
            }
        }
        return replies;
    }

    /** Names of fields and of the index are few and come again with every operation. */
    private byte[] name(String name) {
        return names.computeIfAbsent(name, RedisDB::bytes);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(ISO_8859_1);
    }
}
