package org.benchsite.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

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
import org.benchsite.ycsb.Settings;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
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
 */
public final class RedisDB extends BenchsiteDB {
    private static final List<Property> DECLARED = List.of(
        Property.text("redis.host", "127.0.0.1"),
        Property.whole("redis.port", 6379, 1, 65_535),
        Property.text("redis.password", ""),
        Property.whole("redis.database", 0, 0, 10_000),
        Property.whole("redis.timeout_ms", 10_000, 1, 3_600_000),
        Property.flag("redis.index", false),
        Property.whole("redis.wait.replicas", 0, 0, 100),
        Property.whole("redis.wait.timeout_ms", 1_000, 1, 600_000));
    private static final byte[] SCORE = {'0'};

    private final Map<String, byte[]> names = new HashMap<>();
    private Jedis jedis;
    private Connection connection;
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
        String password = given.text("redis.password");
        jedis = new Jedis(
            new HostAndPort(given.text("redis.host"), given.whole("redis.port")),
            DefaultJedisClientConfig.builder().resp2().timeoutMillis(timeout)
                .password(password.isEmpty() ? null : password).database(given.whole("redis.database")).build());
        // A server that asks for a password accepts the connection without one and refuses only the first command.
        jedis.ping();
        connection = jedis.getConnection();
    }

    @Override
    protected void disconnect() {
        if (jedis != null) {
            try {
                jedis.close();
            } catch (RuntimeException e) {
                // A broken connection cannot be closed in order, and nothing is lost with it.
            }
            jedis = null;
        }
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
        takeRow(connection.getOne(), fields, result);
        return result.isEmpty() ? Status.NOT_FOUND : Status.OK;
    }

    @Override
    protected Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) throws OperationFailed {
        if (!index) {
            throw new OperationFailed(Failure.lasting(Status.NOT_IMPLEMENTED, "a scan needs redis.index=true"));
        }
        List<byte[]> keys = jedis.zrangeByLex(name(table + ":index"), bytes("[" + startKey), bytes("+"), 0, count);
        for (byte[] key : keys) {
            sendRead(key, fields);
        }
        for (Object reply : replies(keys.size())) {
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
        finishWrite(1);
        return Status.OK;
    }

    @Override
    protected Status tryInsert(String table, String key, Map<String, byte[]> values) throws OperationFailed {
        byte[] keyBytes = bytes(key);
        sendWrite(keyBytes, values);
        if (index) {
            connection.sendCommand(Command.ZADD, name(table + ":index"), SCORE, keyBytes);
        }
        finishWrite(index ? 2 : 1);
        return Status.OK;
    }

    @Override
    protected Status tryDelete(String table, String key) throws OperationFailed {
        byte[] keyBytes = bytes(key);
        connection.sendCommand(Command.DEL, keyBytes);
        if (index) {
            connection.sendCommand(Command.ZREM, name(table + ":index"), keyBytes);
        }
        List<Object> replies = finishWrite(index ? 2 : 1);
        return Long.valueOf(0).equals(replies.get(0)) ? Status.NOT_FOUND : Status.OK;
    }

    private void sendRead(byte[] key, Set<String> fields) {
        if (fields == null) {
            connection.sendCommand(Command.HGETALL, key);
            return;
        }
        byte[][] arguments = new byte[1 + fields.size()][];
        arguments[0] = key;
        int i = 1;
        for (String field : fields) {
            arguments[i++] = name(field);
        }
        connection.sendCommand(Command.HMGET, arguments);
    }

    /** HGETALL answers with names and values in turn, HMGET with values in the order asked, null for a missing one. */
    private static void takeRow(Object reply, Set<String> fields, Map<String, ByteIterator> row) {
        List<?> parts = (List<?>) reply;
        if (fields == null) {
            for (int i = 0; i + 1 < parts.size(); i += 2) {
                String name = new String((byte[]) parts.get(i), ISO_8859_1);
                row.put(name, new ByteArrayByteIterator((byte[]) parts.get(i + 1)));
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
        connection.sendCommand(Command.HSET, arguments);
    }

    /** Sends WAIT behind the commands where it is asked for, and reads the replies of all. */
    private List<Object> finishWrite(int commands) throws OperationFailed {
        if (waitReplicas == 0) {
            return replies(commands);
        }
        connection.sendCommand(Command.WAIT, waitArguments);
        List<Object> replies = replies(commands + 1);
        long acknowledged = (Long) replies.get(commands);
        if (acknowledged < waitReplicas) {
            throw new OperationFailed(Failure.passing(
                Status.ERROR, acknowledged + " of " + waitReplicas + " replicas acknowledged the write in time"));
        }
        return replies;
    }

    /** All replies are read before an error among them is raised: an unread one would answer the next operation. */
    private List<Object> replies(int count) {
        if (count == 1) {
            return List.of(connection.getOne());
        }
        List<Object> replies = new ArrayList<>(connection.getMany(count));
        for (Object reply : replies) {
            if (reply instanceof JedisDataException) {
                throw (JedisDataException) reply;
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
