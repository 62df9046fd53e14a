package org.benchsite.postgresql;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLEncoder;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.Property;
import org.benchsite.ycsb.Settings;
import org.postgresql.Driver;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * PostgreSQL, one row per record in a table (ycsb_key primary key, one text column per field) that exists already.
 *
 * <p>With {@code postgresql.autocommit=false} every operation is a transaction with a COMMIT of its own, which costs a
 * round trip more; no operation ever stays uncommitted.
 */
public final class PostgresqlDB extends BenchsiteDB {
    private static final String KEY = "ycsb_key";
    /** The driver counts its timeouts in whole seconds. */
    private static final int MS_PER_SECOND = 1000;
    private static final Pattern HOST = Pattern.compile("[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+");
    private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,62}");
    private static final List<Property> DECLARED = List.of(
        Property.text("postgresql.host", "127.0.0.1"),
        Property.whole("postgresql.port", 5432, 1, 65_535),
        Property.text("postgresql.database", "ycsb"),
        Property.text("postgresql.user", "ycsb"),
        Property.text("postgresql.password", ""),
        Property.whole("postgresql.timeout_ms", 30_000, 1_000, 3_600_000),
        Property.choice("postgresql.synchronous_commit", "", "off", "local", "remote_write", "on", "remote_apply"),
        Property.flag("postgresql.autocommit", true),
        Property.choice("postgresql.ssl", "disable", "disable", "prefer", "require"));

    private final Map<String, PreparedStatement> statements = new HashMap<>();
    private final Map<String, String> identifiers = new HashMap<>();
    private Connection connection;
    private boolean autocommit;

    /** Work with one prepared statement whose transaction is already taken care of. */
    private interface Work {
        Status with(PreparedStatement statement) throws SQLException;
    }

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected void connect(Settings given) throws SQLException, DBException {
        autocommit = given.flag("postgresql.autocommit");
        String url = url(
            given.text("postgresql.host"), given.whole("postgresql.port"), given.text("postgresql.database"));
        int seconds = (given.whole("postgresql.timeout_ms") + MS_PER_SECOND - 1) / MS_PER_SECOND;
        Properties options = new Properties();
        options.setProperty("user", given.text("postgresql.user"));
        if (!given.text("postgresql.password").isEmpty()) {
            options.setProperty("password", given.text("postgresql.password"));
        }
        options.setProperty("connectTimeout", Integer.toString(seconds));
        options.setProperty("loginTimeout", Integer.toString(seconds));
        options.setProperty("socketTimeout", Integer.toString(seconds));
        options.setProperty("sslmode", given.text("postgresql.ssl"));
        options.setProperty("gssEncMode", "disable");
        options.setProperty("ApplicationName", "benchsite");
        connection = new Driver().connect(url, options);
        setSynchronousCommit(given.text("postgresql.synchronous_commit"));
        connection.setAutoCommit(autocommit);
    }

    /** The URL is made of parts that cannot add options of the driver to it. */
    static String url(String host, int port, String database) throws DBException {
        if (!HOST.matcher(host).matches()) {
            throw new DBException("postgresql.host must be a host name or an address, not \"" + host + "\"");
        }
        String bracketed = host.indexOf(':') < 0 ? host : "[" + host + "]";
        return "jdbc:postgresql://" + bracketed + ":" + port + "/" + URLEncoder.encode(database, UTF_8);
    }

    private void setSynchronousCommit(String wanted) throws SQLException, DBException {
        if (wanted.isEmpty()) {
            return;
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET SESSION synchronous_commit TO '" + wanted + "'");
            try (ResultSet shown = statement.executeQuery("SHOW synchronous_commit")) {
                shown.next();
                String found = shown.getString(1);
                if (!found.equals(wanted)) {
                    throw new DBException("synchronous_commit is " + found + " after it was set to " + wanted);
                }
            }
        }
    }

    @Override
    protected void disconnect() {
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
    protected Failure classify(Exception thrown) {
        String message = Failure.describe(thrown);
        if (thrown instanceof IllegalArgumentException) {
            return Failure.lasting(Status.BAD_REQUEST, message);
        }
        if (!(thrown instanceof SQLException)) {
            return Failure.broken(thrown.getClass().getSimpleName() + ": " + message);
        }
        Failure failure = SqlState.classify(((SQLException) thrown).getSQLState(), message);
        // A server that shuts down or crashes says so with a state of its own and then closes the connection.
        return isClosed() ? Failure.broken(message) : failure;
    }

    private boolean isClosed() {
        try {
            return connection == null || connection.isClosed();
        } catch (SQLException e) {
            return true;
        }
    }

    @Override
    protected Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result)
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
    protected Status tryScan(
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
    protected Status tryUpdate(String table, String key, Map<String, byte[]> values) throws SQLException {
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
    protected Status tryInsert(String table, String key, Map<String, byte[]> values) throws SQLException {
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
    protected Status tryDelete(String table, String key) throws SQLException {
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
            return '"' + unquoted + '"';
        });
    }
}
