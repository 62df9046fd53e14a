package org.benchsite.cassandra;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.datastax.oss.driver.api.core.AllNodesFailedException;
import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.DefaultConsistencyLevel;
import com.datastax.oss.driver.api.core.NoNodeAvailableException;
import com.datastax.oss.driver.api.core.connection.ClosedConnectionException;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.BoundStatementBuilder;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.servererrors.BootstrappingException;
import com.datastax.oss.driver.api.core.servererrors.CoordinatorException;
import com.datastax.oss.driver.api.core.servererrors.OverloadedException;
import com.datastax.oss.driver.api.core.servererrors.QueryValidationException;
import com.datastax.oss.driver.api.core.servererrors.UnauthorizedException;
import com.datastax.oss.driver.api.core.servererrors.UnavailableException;
import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.Property;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Cassandra and what speaks its protocol, one row per record in a table (y_id text primary key, one text column per
 * field) that exists already: the schema of YCSB's own binding.
 *
 * <p>All threads of the process share one session of the driver, whose requests go to a replica of their key. Every
 * statement is prepared. A write of CQL never says whether there was a row, so that updates and deletes of keys that
 * are not there succeed. Scans go on in the order of the keys' tokens, not in that of the keys.
 */
public final class CassandraDB extends BenchsiteDB {
    static final String KEY = "y_id";
    private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,47}");
    static final List<Property> DECLARED = Stream.concat(Tls.properties("cassandra").stream(), Stream.of(
        Property.text("cassandra.hosts", "127.0.0.1"),
        Property.whole("cassandra.port", 9042, 1, 65_535),
        Property.text("cassandra.keyspace", "ycsb"),
        Property.text("cassandra.username", ""),
        Property.text("cassandra.password", ""),
        Property.text("cassandra.local_dc", ""),
        Property.choice("cassandra.readconsistencylevel", "ONE", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_ONE",
            "LOCAL_QUORUM", "EACH_QUORUM", "SERIAL", "LOCAL_SERIAL"),
        Property.choice("cassandra.writeconsistencylevel", "ONE", "ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL",
            "LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM"),
        Property.whole("cassandra.connections", 1, 1, 64),
        Property.whole("cassandra.timeout_ms", 10_000, 1, 3_600_000))).collect(Collectors.toList());

    private final Map<String, PreparedStatement> statements = new HashMap<>();
    private final Map<String, String> identifiers = new HashMap<>();
    private SharedSession shared;
    private ConsistencyLevel reads;
    private ConsistencyLevel writes;

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected void connect(Settings given) throws DBException, IOException {
        reads = DefaultConsistencyLevel.valueOf(given.text("cassandra.readconsistencylevel"));
        writes = DefaultConsistencyLevel.valueOf(given.text("cassandra.writeconsistencylevel"));
        if (shared == null) {
            shared = SharedSession.acquire(given);
        }
        if (!shared.hasNode()) {
            throw new IOException("no node of the cluster accepts a connection");
        }
    }

    /** Keeps the session: the driver connects it again, sooner than a new session would open. */
    @Override
    protected void disconnect() {
        statements.clear();
    }

    @Override
    protected void release() {
        if (shared != null) {
            shared.release();
            shared = null;
        }
    }

    /** The driver mends its connections by itself; only without any node a thread has to wait before it goes on. */
    @Override
    protected Failure classify(Exception thrown) {
        String message = Failure.describe(thrown);
        if (thrown instanceof IllegalArgumentException) {
            return Failure.lasting(Status.BAD_REQUEST, message);
        }
        if (thrown instanceof IOException || thrown instanceof NoNodeAvailableException) {
            return Failure.broken(message);
        }
        if (thrown instanceof AllNodesFailedException) {
            return allNodesFailed((AllNodesFailedException) thrown);
        }
        if (thrown instanceof UnauthorizedException) {
            return Failure.lasting(Status.FORBIDDEN, message);
        }
        if (thrown instanceof QueryValidationException) {
            return Failure.lasting(Status.BAD_REQUEST, message);
        }
        boolean overloaded = thrown instanceof OverloadedException || thrown instanceof BootstrappingException
            || thrown instanceof UnavailableException;
        return Failure.passing(overloaded ? Status.SERVICE_UNAVAILABLE : Status.ERROR, message);
    }

    /** What a node answered decides, where one answered at all. */
    private Failure allNodesFailed(AllNodesFailedException thrown) {
        List<Throwable> errors = thrown.getAllErrors().values().stream()
            .flatMap(List::stream).collect(Collectors.toList());
        for (Throwable error : errors) {
            if (error instanceof CoordinatorException) {
                return classify((CoordinatorException) error);
            }
        }
        boolean lost = errors.stream().allMatch(error -> error instanceof ClosedConnectionException);
        String message = errors.isEmpty() ? Failure.describe(thrown) : Failure.describe(errors.get(0));
        return lost ? Failure.broken(message) : Failure.passing(Status.ERROR, message);
    }

    @Override
    protected Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
        Row row = shared.session.execute(select(table, fields, " WHERE " + KEY + " = ?").bind(key)).one();
        if (row == null) {
            return Status.NOT_FOUND;
        }
        takeRow(row, result);
        return Status.OK;
    }

    @Override
    protected Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) {
        PreparedStatement statement = select(table, fields, " WHERE token(" + KEY + ") >= token(?) LIMIT ?");
        for (Row row : shared.session.execute(statement.bind(startKey, count))) {
            HashMap<String, ByteIterator> fieldsOfRow = new HashMap<>();
            takeRow(row, fieldsOfRow);
            result.add(fieldsOfRow);
        }
        return Status.OK;
    }

    @Override
    protected Status tryUpdate(String table, String key, Map<String, byte[]> values) {
        return write("UPDATE " + identifier(table) + " SET "
            + values.keySet().stream().map(field -> identifier(field) + " = ?").collect(Collectors.joining(", "))
            + " WHERE " + KEY + " = ?", values, key);
    }

    @Override
    protected Status tryInsert(String table, String key, Map<String, byte[]> values) {
        return write("INSERT INTO " + identifier(table) + " ("
            + values.keySet().stream().map(field -> identifier(field) + ", ").collect(Collectors.joining()) + KEY
            + ") VALUES (" + String.join(", ", Collections.nCopies(values.size() + 1, "?")) + ")", values, key);
    }

    @Override
    protected Status tryDelete(String table, String key) {
        return write("DELETE FROM " + identifier(table) + " WHERE " + KEY + " = ?", Map.of(), key);
    }

    /** Binds the values and, behind them, the key. YCSB's values are ASCII, which is how text is stored. */
    private Status write(String cql, Map<String, byte[]> values, String key) {
        BoundStatementBuilder bound = prepared(cql, writes).boundStatementBuilder();
        int next = 0;
        for (byte[] value : values.values()) {
            bound.setBytesUnsafe(next++, ByteBuffer.wrap(value));
        }
        BoundStatement statement = bound.setString(next, key).build();
        shared.session.execute(statement);
        return Status.OK;
    }

    private PreparedStatement select(String table, Set<String> fields, String where) {
        String columns = fields == null ? "*"
            : fields.stream().map(this::identifier).collect(Collectors.joining(", "));
        return prepared("SELECT " + columns + " FROM " + identifier(table) + where, reads);
    }

    private PreparedStatement prepared(String cql, ConsistencyLevel consistency) {
        PreparedStatement statement = statements.get(cql);
        if (statement == null) {
            statement = shared.session.prepare(SimpleStatement.newInstance(cql).setConsistencyLevel(consistency));
            statements.put(cql, statement);
        }
        return statement;
    }

    private static void takeRow(Row row, Map<String, ByteIterator> result) {
        for (int i = 0; i < row.getColumnDefinitions().size(); i++) {
            String name = row.getColumnDefinitions().get(i).getName().asInternal();
            ByteBuffer value = row.getBytesUnsafe(i);
            if (value != null && !name.equals(KEY)) {
                byte[] bytes = new byte[value.remaining()];
                value.get(bytes);
                result.put(name, new ByteArrayByteIterator(bytes));
            }
        }
    }

    /** A quoted name of a table or column; anything but letters, digits and underscores is refused. */
    private String identifier(String name) {
        return identifiers.computeIfAbsent(name, CassandraDB::quote);
    }

    static String quote(String name) {
        if (!IDENTIFIER.matcher(name).matches()) {
            throw new IllegalArgumentException("\"" + name + "\" cannot be the name of a keyspace, table or field");
        }
        return '"' + name + '"';
    }
}
