package org.benchsite.mariadb;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Properties;

import org.benchsite.ycsb.AdminProgram;
import org.benchsite.ycsb.JdbcDB;
import org.benchsite.ycsb.Settings;
import site.ycsb.DBException;

/**
 * The administration of a MariaDB server.
 *
 * <p>The marker of a data set is the last line of its table's comment, so it goes with the table. It is written under a
 * named lock of the server.
 */
public final class Admin extends AdminProgram {
    private static final String MARKER_LINE = "Benchsite data set: ";
    private static final int TIMEOUT_MS = 600_000;
    private static final int LOCK_TIMEOUT_S = 10;
    private static final int KEYS_PER_STATEMENT = 1000;
    private static final int REPLICA_TIMEOUT_MS = 1000;
    private static final int MAX_SURVEYED = 8;
    private static final int VALIDITY_TIMEOUT_S = 5;
    private static final Map<String, String> COUNTS = Map.ofEntries(
        Map.entry("innodb_buffer_pool_read_requests", "cache_hits"),
        Map.entry("innodb_buffer_pool_reads", "cache_misses"),
        Map.entry("innodb_buffer_pool_pages_flushed", "pages_flushed"),
        Map.entry("innodb_os_log_written", "log_bytes"),
        Map.entry("innodb_os_log_fsyncs", "log_syncs"),
        Map.entry("innodb_log_writes", "log_writes"),
        Map.entry("innodb_log_waits", "log_waits"),
        Map.entry("innodb_data_fsyncs", "data_syncs"),
        Map.entry("innodb_data_read", "data_read_bytes"),
        Map.entry("innodb_data_written", "data_written_bytes"),
        Map.entry("questions", "statements"));
    private static final Map<String, String> VALUES = Map.of(
        "innodb_buffer_pool_bytes_dirty", "dirty_bytes",
        "innodb_checkpoint_age", "checkpoint_age_bytes",
        "threads_running", "threads_running",
        "rpl_semi_sync_master_wait_sessions", "commits_waiting");

    private final Address address;
    private final Map<String, Connection> replicas = new HashMap<>();
    private Connection connection;

    private final Settings settings;

    private Admin(Address address) {
        this.address = address;
        Properties properties = new Properties();
        properties.putAll(address.properties);
        // A client of another kind names them otherwise.
        properties.setProperty("mariadb.user", address.user);
        properties.setProperty("mariadb.password", address.password);
        try {
            settings = new Settings(MariadbDB.DECLARED, properties);
        } catch (DBException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    public static void main(String[] args) throws IOException {
        serve(Admin::new);
    }

    /** Without its database, which a new server does not have. */
    @Override
    protected void connect() throws SQLException, DBException {
        if (connection == null || !connection.isValid(VALIDITY_TIMEOUT_S)) {
            String url = JdbcDB.url("mariadb", address.hosts, address.port, "");
            connection = MariadbDB.connect(url, settings, TIMEOUT_MS);
        }
    }

    @Override
    protected void ping() throws SQLException {
        text("SELECT 1");
    }

    @Override
    protected void prepare(Map<String, String> settings) throws SQLException {
        execute("CREATE DATABASE IF NOT EXISTS " + quote(address.database));
    }

    @Override
    protected String serverVersion() throws SQLException {
        return text("SELECT @@version").split("-")[0];
    }

    @Override
    protected String dataFolder() throws SQLException {
        return text("SELECT @@datadir");
    }

    @Override
    protected Map<String, String> readSettings(List<String> names) throws SQLException {
        Map<String, String> settings = new LinkedHashMap<>();
        for (String name : names) {
            String value = text(
                "SELECT variable_value FROM information_schema.global_variables WHERE variable_name = ?", name);
            if (!value.isEmpty()) {
                settings.put(name, value);
            }
        }
        return settings;
    }

    /** Connected replicas; with semi-synchronous commits those that they wait for, none while they do not. */
    @Override
    protected int replicas() throws SQLException {
        if (!semiSynchronous()) {
            return Integer.parseInt(
                text("SELECT count(*) FROM information_schema.processlist WHERE command = 'Binlog Dump'"));
        }
        return status("rpl_semi_sync_master_status").equals("ON")
            ? Integer.parseInt(status("rpl_semi_sync_master_clients")) : 0;
    }

    private boolean semiSynchronous() throws SQLException {
        return text("SELECT @@rpl_semi_sync_master_enabled").equals("1");
    }

    private String status(String name) throws SQLException {
        return text("SELECT variable_value FROM information_schema.global_status WHERE variable_name = ?", name);
    }

    /** Commits that gave up waiting for a replica are part of it: with them a run was in another mode for a time. */
    @Override
    protected Map<String, String> topology() throws SQLException {
        Map<String, String> topology = new LinkedHashMap<>();
        topology.put("version", serverVersion());
        topology.put("nodes_up", String.valueOf(1 + replicas()));
        if (semiSynchronous()) {
            topology.put("commits_without_replica", status("rpl_semi_sync_master_no_tx"));
        }
        return topology;
    }

    /** Releases differ in which of the status variables they keep. Hits of the buffer pool are its requests but reads. */
    @Override
    protected Counters counters() throws SQLException {
        Map<String, Double> status = new HashMap<>();
        try (PreparedStatement statement = connection.prepareStatement("SHOW GLOBAL STATUS");
                ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                String name = rows.getString(1).toLowerCase(Locale.ROOT);
                if (COUNTS.containsKey(name) || VALUES.containsKey(name)) {
                    status.put(name, rows.getDouble(2));
                }
            }
        }
        Counters counters = new Counters();
        COUNTS.forEach((name, count) -> {
            if (status.containsKey(name)) {
                counters.count(count, status.get(name));
            }
        });
        VALUES.forEach((name, value) -> {
            if (status.containsKey(name)) {
                counters.value(value, status.get(name));
            }
        });
        counters.counts.computeIfPresent("cache_hits", (name, reads) -> reads - counters.counts.get("cache_misses"));
        readLag().ifPresent(lag -> counters.values.put("replication_lag_s", lag));
        return counters;
    }

    /** Seconds that the slowest replica is behind, which only the replicas know; empty without a reachable one. */
    private OptionalDouble readLag() {
        OptionalDouble slowest = OptionalDouble.empty();
        try (PreparedStatement statement = connection.prepareStatement("SHOW SLAVE HOSTS");
                ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                String url = JdbcDB.url("mariadb", rows.getString("Host"), rows.getInt("Port"), "");
                if (!replicas.containsKey(url)) {
                    replicas.put(url, MariadbDB.connect(url, settings, REPLICA_TIMEOUT_MS));
                }
                try (PreparedStatement lag = replicas.get(url).prepareStatement("SHOW SLAVE STATUS");
                        ResultSet row = lag.executeQuery()) {
                    if (row.next() && row.getString("Seconds_Behind_Master") != null) {
                        slowest = OptionalDouble.of(Math.max(slowest.orElse(0), row.getInt("Seconds_Behind_Master")));
                    }
                }
            }
        } catch (SQLException | DBException e) {
            // The account may not ask, or the replica does not say where it is or has ended.
            replicas.clear();
        }
        return slowest;
    }

    @Override
    protected Survey survey(String table) throws SQLException {
        Survey survey = new Survey();
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = ? "
                    + "AND table_name <> ? ORDER BY table_rows DESC LIMIT " + MAX_SURVEYED)) {
            statement.setString(1, address.database);
            statement.setString(2, table);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    survey.data.put(rows.getString(1), rows.getLong(2));
                }
            }
        }
        if (text("SELECT @@global.read_only").equals("1")) {
            survey.obstacles.add("read_only");
        }
        survey.limitConnections(Long.parseLong(status("threads_connected")), number("SELECT @@global.max_connections"));
        long limitOfUser = number("SELECT @@session.max_user_connections");
        if (limitOfUser > 0) {
            String user = "substring_index(current_user(), '@', 1)";
            survey.limitConnections(
                number("SELECT count(*) FROM information_schema.processlist WHERE user = " + user), limitOfUser);
        }
        return survey;
    }

    private long number(String query) throws SQLException {
        return Long.parseLong(text(query));
    }

    @Override
    protected String content(String table) throws SQLException {
        return exists(table) && !text("SELECT 1 FROM " + name(table) + " LIMIT 1").isEmpty()
            ? "the rows of table " + table : "";
    }

    @Override
    protected long size(String table) throws SQLException {
        return Long.parseLong(text("SELECT count(*) FROM " + name(table)));
    }

    @Override
    protected String readMarker(String table) throws SQLException {
        return comment(table)[1];
    }

    @Override
    protected boolean writeMarker(String table, String marker, String replaces, List<String> fields)
        throws SQLException {
        lock(table);
        try {
            String[] comment = comment(table);
            if (!exists(table) || !comment[1].equals(replaces)) {
                return false;
            }
            for (String field : fields) {
                requireColumn(table, field);
            }
            String text = comment[0].isEmpty() ? MARKER_LINE + marker : comment[0] + "\n" + MARKER_LINE + marker;
            execute("ALTER TABLE " + name(table) + " COMMENT = " + literal(text));
            return true;
        } finally {
            unlock(table);
        }
    }

    /** The key orders by bytes, as YCSB's scans expect, whatever the database's own collation. */
    @Override
    protected boolean createTable(String table, List<String> fields, String marker) throws SQLException {
        lock(table);
        try {
            if (exists(table)) {
                return false;
            }
            StringBuilder columns = new StringBuilder();
            fields.forEach(field -> columns.append(", ").append(quote(field)).append(" MEDIUMTEXT"));
            execute("CREATE TABLE " + name(table) + " (" + JdbcDB.KEY + " VARCHAR(255) PRIMARY KEY" + columns
                + ") ENGINE = InnoDB, CHARACTER SET utf8mb4, COLLATE utf8mb4_bin, COMMENT = "
                + literal(MARKER_LINE + marker));
            return true;
        } finally {
            unlock(table);
        }
    }

    /** The table is locked for writes until it is gone. */
    @Override
    protected boolean dropEmptyTable(String table) throws SQLException {
        execute("LOCK TABLES " + name(table) + " WRITE");
        try {
            if (size(table) > 0) {
                return false;
            }
            execute("DROP TABLE " + name(table));
            return true;
        } finally {
            execute("UNLOCK TABLES");
        }
    }

    @Override
    protected long countKeys(String table, List<String> keys) throws SQLException {
        long rows = 0;
        for (List<String> batch : batches(keys)) {
            rows += Long.parseLong(text("SELECT count(*) FROM " + name(table) + where(batch), batch.toArray()));
        }
        return rows;
    }

    @Override
    protected long deleteKeys(String table, List<String> keys) throws SQLException {
        long rows = 0;
        for (List<String> batch : batches(keys)) {
            try (PreparedStatement statement = prepared("DELETE FROM " + name(table) + where(batch), batch.toArray())) {
                rows += statement.executeUpdate();
            }
        }
        return rows;
    }

    private static List<List<String>> batches(List<String> keys) {
        List<List<String>> batches = new ArrayList<>();
        for (int first = 0; first < keys.size(); first += KEYS_PER_STATEMENT) {
            batches.add(keys.subList(first, Math.min(first + KEYS_PER_STATEMENT, keys.size())));
        }
        return batches;
    }

    private static String where(List<String> keys) {
        return " WHERE " + JdbcDB.KEY + " IN (?" + ", ?".repeat(keys.size() - 1) + ")";
    }

    /** The comment of the table's owner and the marker behind it; empty where there is none. */
    private String[] comment(String table) throws SQLException {
        String comment = text(
            "SELECT table_comment FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
            address.database, table);
        int line = comment.lastIndexOf('\n') + 1;
        return comment.startsWith(MARKER_LINE, line)
            ? new String[] {comment.substring(0, Math.max(line - 1, 0)), comment.substring(line + MARKER_LINE.length())}
            : new String[] {comment, ""};
    }

    private boolean exists(String table) throws SQLException {
        if (text("SELECT 1 FROM information_schema.schemata WHERE schema_name = ?", address.database).isEmpty()) {
            throw new IllegalArgumentException("there is no database " + address.database + ". Create it there: CREATE "
                + "DATABASE " + quote(address.database) + "; or name another one by mariadb.database");
        }
        return !text("SELECT 1 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
            address.database, table).isEmpty();
    }

    private void requireColumn(String table, String column) throws SQLException {
        if (text("SELECT 1 FROM information_schema.columns WHERE table_schema = ? AND table_name = ? AND column_name = ?",
            address.database, table, column).isEmpty()) {
            throw new IllegalArgumentException("Table " + table + " of database " + address.database + " has no column "
                + column + ", which the workload's records need. Drop the table, or choose another by the workload's "
                + "table");
        }
    }

    private void lock(String table) throws SQLException {
        if (!text("SELECT GET_LOCK(?, ?)", lockName(table), LOCK_TIMEOUT_S).equals("1")) {
            throw new IllegalStateException("another process is changing the marker of table " + table);
        }
    }

    private void unlock(String table) throws SQLException {
        text("SELECT RELEASE_LOCK(?)", lockName(table));
    }

    /** Names of locks have at most 64 letters. */
    private String lockName(String table) {
        return "benchsite " + Integer.toHexString(name(table).hashCode());
    }

    private String name(String table) {
        return quote(address.database) + "." + quote(table);
    }

    private static String quote(String name) {
        return "`" + name.replace("`", "``") + "`";
    }

    private static String literal(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'";
    }

    private void execute(String sql) throws SQLException {
        try (PreparedStatement statement = prepared(sql)) {
            statement.execute();
        }
    }

    /** The first column of the first row; empty text where there is none. */
    private String text(String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepared(sql, values); ResultSet rows = statement.executeQuery()) {
            String value = rows.next() ? rows.getString(1) : null;
            return value == null ? "" : value;
        }
    }

    private PreparedStatement prepared(String sql, Object... values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int i = 0; i < values.length; i++) {
            statement.setObject(i + 1, values[i]);
        }
        return statement;
    }
}
