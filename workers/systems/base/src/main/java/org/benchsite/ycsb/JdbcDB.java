package org.benchsite.ycsb;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLEncoder;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * A database of SQL, one row per record in a table (ycsb_key primary key, one text column per field) that exists already.
 *
 * <p>With a connection that does not commit by itself, every operation is a transaction with a COMMIT of its own, which
 * costs a round trip more; no operation ever stays uncommitted.
 */
public abstract class JdbcDB extends BenchsiteDB {
    public static final String KEY = "ycsb_key";
    private static final Pattern HOST = Pattern.compile("[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+");
    private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,62}");

    private final String quote;
    private final Map<String, PreparedStatement> statements = new HashMap<>();
    private final Map<String, String> identifiers = new HashMap<>();
    private Connection connection;
    private boolean autocommit;

    /** Work with one prepared statement whose transaction is already taken care of. */
    private interface Work {
        Status with(PreparedStatement statement) throws SQLException;
    }

    /** `quote` stands around the names of tables and columns. */
    protected JdbcDB(String quote) {
        this.quote = quote;
    }

    /** A connection with everything that the properties ask for. */
    protected abstract Connection open(Settings given) throws SQLException, DBException;

    /** What an answer of the server means, by its SQLSTATE or its own number. */
    protected abstract Failure classify(SQLException thrown, String message);

    @Override
    protected final void connect(Settings given) throws SQLException, DBException {
        connection = open(given);
        autocommit = connection.getAutoCommit();
    }

    /** The URL is made of parts that cannot add options of the driver to it. `binding` begins the properties' names. */
    public static String url(String binding, String host, int port, String database) throws DBException {
        if (!HOST.matcher(host).matches()) {
            throw new DBException(binding + ".host must be a host name or an address, not \"" + host + "\"");
        }
        String bracketed = host.indexOf(':') < 0 ? host : "[" + host + "]";
        return "jdbc:" + binding + "://" + bracketed + ":" + port + "/" + URLEncoder.encode(database, UTF_8);
    }

    @Override
    protected final void disconnect() {
        statements.clear();
        if (connection != null) {
            try {
                connection.close();
            } catch (SQLException e) {
                // A broken connection cannot be closed in order, and nothing is lost with it.
            }
            connection = null;
        }
    }

    @Override
    protected final Failure classify(Exception thrown) {
        String message = Failure.describe(thrown);
        if (thrown instanceof IllegalArgumentException) {
            return Failure.lasting(Status.BAD_REQUEST, message);
        }
        if (!(thrown instanceof SQLException)) {
            return Failure.broken(thrown.getClass().getSimpleName() + ": " + message);
        }
        Failure failure = classify((SQLException) thrown, message);
        // A server that shuts down or crashes says so with a state of its own and then closes the connection.
        return isClosed() ? Failure.broken(message) : failure;
    }

    @Override
    protected final String errorCode(Exception thrown) {
        String state = thrown instanceof SQLException ? ((SQLException) thrown).getSQLState() : null;
        return state == null ? super.errorCode(thrown) : state;
    }

    private boolean isClosed() {
        try {
            return connection == null || connection.isClosed();
        } catch (SQLException e) {
            return true;
        }
    }

    @Override
    protected final Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result)
        throws SQLException {
        String sql = "SELECT " + columns(fields) + " FROM " + identifier(table) + " WHERE " + KEY + " = ?";
        return run(sql, statement -> {
            statement.setString(1, key);
            try (ResultSet rows = statement.executeQuery()) {
                if (!rows.next()) {
                    return Status.NOT_FOUND;
                }
                takeRow(rows, fields, result);
                return Status.OK;
            }
        });
    }

    @Override
    protected final Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) throws SQLException {
        String sql = "SELECT " + columns(fields) + " FROM " + identifier(table) + " WHERE " + KEY + " >= ? ORDER BY "
            + KEY + " LIMIT ?";
        return run(sql, statement -> {
            statement.setString(1, startKey);
            statement.setInt(2, count);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    HashMap<String, ByteIterator> row = new HashMap<>();
                    takeRow(rows, fields, row);
                    result.add(row);
                }
            }
            return Status.OK;
        });
    }

    @Override
    protected final Status tryUpdate(String table, String key, Map<String, byte[]> values) throws SQLException {
        String changes = values.keySet().stream().map(field -> identifier(field) + " = ?")
            .collect(Collectors.joining(", "));
        String sql = "UPDATE " + identifier(table) + " SET " + changes + " WHERE " + KEY + " = ?";
        return run(sql, statement -> {
            int next = setValues(statement, 1, values.values());
            statement.setString(next, key);
            return statement.executeUpdate() == 0 ? Status.NOT_FOUND : Status.OK;
        });
    }

    @Override
    protected final Status tryInsert(String table, String key, Map<String, byte[]> values) throws SQLException {
        String sql = "INSERT INTO " + identifier(table) + " (" + KEY
            + values.keySet().stream().map(field -> ", " + identifier(field)).collect(Collectors.joining())
            + ") VALUES (?" + ", ?".repeat(values.size()) + ")";
        return run(sql, statement -> {
            statement.setString(1, key);
            setValues(statement, 2, values.values());
            statement.executeUpdate();
            return Status.OK;
        });
    }

    @Override
    protected final Status tryDelete(String table, String key) throws SQLException {
        String sql = "DELETE FROM " + identifier(table) + " WHERE " + KEY + " = ?";
        return run(sql, statement -> {
            statement.setString(1, key);
            return statement.executeUpdate() == 0 ? Status.NOT_FOUND : Status.OK;
        });
    }

    private Status run(String sql, Work work) throws SQLException {
        PreparedStatement statement = statements.get(sql);
        if (statement == null) {
            statement = connection.prepareStatement(sql);
            statements.put(sql, statement);
        }
        if (autocommit) {
            return work.with(statement);
        }
        try {
            Status status = work.with(statement);
            connection.commit();
            return status;
        } catch (SQLException e) {
            if (!isClosed()) {
                connection.rollback();
            }
            throw e;
        }
    }

    private String columns(Set<String> fields) {
        return fields == null ? "*" : fields.stream().map(this::identifier).collect(Collectors.joining(", "));
    }

    private static int setValues(PreparedStatement statement, int first, Collection<byte[]> values)
        throws SQLException {
        int next = first;
        for (byte[] value : values) {
            statement.setString(next++, new String(value, ISO_8859_1));
        }
        return next;
    }

    /** YCSB's values are ASCII, whose bytes as sent by the server need no decoding. */
    private static void takeRow(ResultSet row, Set<String> fields, Map<String, ByteIterator> result)
        throws SQLException {
        if (fields == null) {
            int columns = row.getMetaData().getColumnCount();
            for (int i = 1; i <= columns; i++) {
                String name = row.getMetaData().getColumnLabel(i);
                if (!name.equals(KEY)) {
                    take(name, row.getBytes(i), result);
                }
            }
            return;
        }
        int i = 1;
        for (String field : fields) {
            take(field, row.getBytes(i++), result);
        }
    }

    private static void take(String field, byte[] value, Map<String, ByteIterator> result) {
        if (value != null) {
            result.put(field, new ByteArrayByteIterator(value));
        }
    }

    /** A quoted name of a table or column; anything but letters, digits and underscores is refused. */
    private String identifier(String name) {
        return identifiers.computeIfAbsent(name, unquoted -> {
            if (!IDENTIFIER.matcher(unquoted).matches()) {
                throw new IllegalArgumentException("\"" + unquoted + "\" cannot be the name of a table or a field");
            }
            return quote + unquoted + quote;
        });
    }
}
