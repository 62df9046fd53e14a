package org.benchsite.cassandra;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.DriverException;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.metadata.Node;
import com.datastax.oss.driver.api.core.metadata.NodeState;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.benchsite.ycsb.Failure;

/**
 * What Benchsite asks of a cluster beside the load, as one JSON object per line: {"call": name, ...} on stdin is answered
 * by {"result": ...}, {"error": message} or {"name_taken": message} on stdout. The first line says where the cluster is: {"hosts",
 * "port", "user", "password", "database"}. The program ends with its stdin.
 *
 * <p>The markers of data sets lie in the table benchsite_markers of the keyspace, under the id of the table that they
 * speak of: a table that is dropped and made again has another id, so it never inherits a marker. They are written by
 * lightweight transactions. Everything is read and written at QUORUM.
 */
public final class Admin {
    private static final String MARKERS = "benchsite_markers";
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int REQUESTS_IN_FLIGHT = 64;
    /** A cluster that has just started answers its first requests late. */
    private static final int ATTEMPTS = 5;

    private final JsonNode address;
    private final String keyspace;
    private CqlSession session;

    /** Something that is no table of markers has its name. */
    private static final class NameTaken extends Exception {
        private static final long serialVersionUID = 1L;

        NameTaken(String message) {
            super(message);
        }
    }

    private Admin(JsonNode address) {
        this.address = address;
        this.keyspace = address.path("database").asText();
    }

    public static void main(String[] args) throws IOException {
        ObjectMapper json = new ObjectMapper();
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Admin admin = new Admin(json.readTree(calls.readLine()));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                answer.put("result", admin.answer(json.readTree(line)));
            } catch (NameTaken e) {
                answer.put("name_taken", e.getMessage());
            } catch (DriverException | IllegalArgumentException | IllegalStateException e) {
                answer.put("error", Failure.describe(e));
            }
            answers.println(json.writeValueAsString(answer));
        }
        System.exit(0);
    }

    private Object answer(JsonNode call) throws NameTaken {
        connect();
        String table = call.path("table").asText();
        switch (call.path("call").asText()) {
            case "ping":
                return session.execute("SELECT release_version FROM system.local").one().getString(0);
            case "prepare":
                return prepare(call.get("settings"));
            case "server_version":
                return versions();
            case "data_folder":
                return dataFolder();
            case "read_settings":
                return readSettings(call.get("names"));
            case "replicas":
                return Math.min(copies(), nodesUp()) - 1;
            case "topology":
                return topology();
            case "content":
                return tableId(table) != null && session.execute(select(table) + " LIMIT 1").one() != null
                    ? "the rows of table " + table : "";
            case "size":
                return size(table);
            case "read_marker":
                return readMarker(table);
            case "write_marker":
                return writeMarker(table, call);
            case "create_table":
                return createTable(table, call);
            case "drop_empty_table":
                return dropEmptyTable(table);
            case "count_keys":
                return forKeys(call.get("keys"), select(table) + " WHERE " + CassandraDB.KEY + " = ?").get();
            case "delete_keys":
                return deleteKeys(table, call.get("keys"));
            default:
                throw new IllegalArgumentException("there is no call " + call.path("call"));
        }
    }

    /** The driver keeps the session connected; one that could not be opened is opened with the next call. */
    private void connect() {
        if (session != null) {
            return;
        }
        session = SharedSession
            .builder(text("hosts"), address.get("port").asInt(), text("user"), text("password"), "")
            .withConfigLoader(SharedSession.config(TIMEOUT, "")
                .withString(DefaultDriverOption.LOAD_BALANCING_POLICY_CLASS, "BasicLoadBalancingPolicy")
                .withString(DefaultDriverOption.REQUEST_CONSISTENCY, ConsistencyLevel.QUORUM.name())
                .build())
            .build();
    }

    private String text(String name) {
        return address.path(name).asText();
    }

    /** Makes the keyspace where it is not there. */
    private boolean prepare(JsonNode settings) {
        session.execute("CREATE KEYSPACE IF NOT EXISTS " + CassandraDB.quote(keyspace)
            + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': "
            + settings.path("replication_factor").asInt(1) + "} AND durable_writes = "
            + settings.path("durable_writes").asBoolean(true));
        return true;
    }

    private String versions() {
        TreeSet<String> versions = new TreeSet<>();
        nodes().forEach(node -> versions.add(String.valueOf(node.getCassandraVersion())));
        return String.join(", ", versions);
    }

    private Iterable<Node> nodes() {
        return session.getMetadata().getNodes().values();
    }

    private int nodesUp() {
        int up = 0;
        for (Node node : nodes()) {
            up += node.getState() == NodeState.UP ? 1 : 0;
        }
        return up;
    }

    private Map<String, String> topology() {
        Map<String, String> topology = new LinkedHashMap<>();
        topology.put("version", versions());
        topology.put("nodes", String.valueOf(session.getMetadata().getNodes().size()));
        topology.put("nodes_up", String.valueOf(nodesUp()));
        if (keyspaceRow() != null) {
            topology.put("replication_factor", String.valueOf(copies()));
            topology.put("replication", replication().toString());
        }
        return topology;
    }

    private Row keyspaceRow() {
        return session.execute(SimpleStatement.newInstance(
            "SELECT durable_writes, replication FROM system_schema.keyspaces WHERE keyspace_name = ?", keyspace)).one();
    }

    private Row requireKeyspace() {
        Row row = keyspaceRow();
        if (row == null) {
            throw new IllegalArgumentException("the cluster has no keyspace " + keyspace + ". Create it there: CREATE "
                + "KEYSPACE " + keyspace + " WITH replication = {'class': 'NetworkTopologyStrategy', "
                + "'replication_factor': 3}; or name another one by cassandra.keyspace");
        }
        return row;
    }

    private Map<String, String> replication() {
        Map<String, String> replication = new LinkedHashMap<>(
            requireKeyspace().getMap("replication", String.class, String.class));
        replication.computeIfPresent("class", (key, name) -> name.substring(name.lastIndexOf('.') + 1));
        return replication;
    }

    /** Copies of each record, over all data centres. */
    private int copies() {
        int copies = 0;
        for (Map.Entry<String, String> part : replication().entrySet()) {
            // Transient replication writes "3/1": three copies, one of them transient.
            copies += part.getKey().equals("class") ? 0 : Integer.parseInt(part.getValue().split("/")[0]);
        }
        return copies;
    }

    private Map<String, String> readSettings(JsonNode names) {
        Map<String, String> settings = new LinkedHashMap<>();
        for (JsonNode each : names) {
            String name = each.asText();
            if (name.equals("durable_writes")) {
                settings.put(name, String.valueOf(requireKeyspace().getBoolean("durable_writes")));
            } else if (name.equals("replication_factor")) {
                settings.put(name, String.valueOf(copies()));
            } else {
                TreeSet<String> values = nodeSetting(name);
                // Until 4.0 durations were numbers whose unit was part of the name.
                if (values.isEmpty()) {
                    nodeSetting(name + "_in_ms").forEach(value -> values.add(value + "ms"));
                }
                if (!values.isEmpty()) {
                    settings.put(name, String.join(" and ", values));
                }
            }
        }
        return settings;
    }

    /** The values of all nodes, which each node knows of itself only; empty where none knows the name. */
    private TreeSet<String> nodeSetting(String name) {
        TreeSet<String> values = new TreeSet<>();
        for (Node node : nodes()) {
            Row row = session.execute(SimpleStatement
                .newInstance("SELECT value FROM system_views.settings WHERE name = ?", name)
                .setConsistencyLevel(ConsistencyLevel.ONE).setNode(node)).one();
            if (row != null && row.getString(0) != null) {
                values.add(row.getString(0));
            }
        }
        return values;
    }

    /** Of the node that answers: while a cluster starts, others may be known and not there yet. */
    private String dataFolder() {
        Row row = session.execute(SimpleStatement
            .newInstance("SELECT value FROM system_views.settings WHERE name = 'commitlog_directory'")
            .setConsistencyLevel(ConsistencyLevel.ONE)).one();
        return Path.of(row.getString(0)).getParent().toString();
    }

    private UUID tableId(String table) {
        Row row = session.execute(SimpleStatement.newInstance(
            "SELECT id FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", keyspace, table)).one();
        if (row == null) {
            requireKeyspace();
        }
        return row == null ? null : row.getUuid(0);
    }

    private String select(String table) {
        return "SELECT " + CassandraDB.KEY + " FROM " + qualified(table);
    }

    private String qualified(String table) {
        return CassandraDB.quote(keyspace) + "." + CassandraDB.quote(table);
    }

    private int size(String table) {
        int size = 0;
        for (ResultSet rows = session.execute(select(table)); rows.iterator().hasNext(); rows.iterator().next()) {
            size++;
        }
        return size;
    }

    private String readMarker(String table) throws NameTaken {
        UUID id = tableId(table);
        if (id == null || !hasMarkers()) {
            return "";
        }
        Row row = session.execute(SimpleStatement
            .newInstance("SELECT marker FROM " + qualified(MARKERS) + " WHERE table_id = ?", id)
            .setConsistencyLevel(ConsistencyLevel.SERIAL)).one();
        return row == null ? "" : row.getString(0);
    }

    private boolean hasMarkers() throws NameTaken {
        if (tableId(MARKERS) == null) {
            return false;
        }
        if (columns(MARKERS).containsAll(List.of("table_id", "marker"))) {
            return true;
        }
        throw new NameTaken("the table " + MARKERS + " is not Benchsite's");
    }

    private List<String> columns(String table) {
        List<String> columns = new ArrayList<>();
        session.execute(SimpleStatement.newInstance(
            "SELECT column_name FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?", keyspace, table))
            .forEach(row -> columns.add(row.getString(0)));
        return columns;
    }

    private boolean writeMarker(String table, JsonNode call) throws NameTaken {
        UUID id = tableId(table);
        if (id == null) {
            return false;
        }
        List<String> columns = columns(table);
        for (JsonNode field : call.path("fields")) {
            if (!columns.contains(field.asText()) || !columns.contains(CassandraDB.KEY)) {
                String missing = columns.contains(CassandraDB.KEY) ? field.asText() : CassandraDB.KEY;
                throw new IllegalArgumentException("Table " + table + " of keyspace " + keyspace + " has no column "
                    + missing + ", which the workload's records need. Drop the table, or choose another by the "
                    + "workload's table");
            }
        }
        if (!hasMarkers()) {
            session.execute("CREATE TABLE IF NOT EXISTS " + qualified(MARKERS)
                + " (table_id uuid PRIMARY KEY, marker text)");
        }
        String replaces = call.path("replaces").asText();
        SimpleStatement write = replaces.isEmpty()
            ? SimpleStatement.newInstance("INSERT INTO " + qualified(MARKERS)
                + " (table_id, marker) VALUES (?, ?) IF NOT EXISTS", id, call.path("marker").asText())
            : SimpleStatement.newInstance("UPDATE " + qualified(MARKERS)
                + " SET marker = ? WHERE table_id = ? IF marker = ?", call.path("marker").asText(), id, replaces);
        return session.execute(write).wasApplied();
    }

    /** Whether this call made the table and its marker, of which another process may have been quicker with either. */
    private boolean createTable(String table, JsonNode call) throws NameTaken {
        if (tableId(table) != null) {
            return false;
        }
        StringBuilder columns = new StringBuilder();
        call.path("fields").forEach(field -> columns.append(", ").append(CassandraDB.quote(field.asText()))
            .append(" text"));
        session.execute("CREATE TABLE IF NOT EXISTS " + qualified(table) + " (" + CassandraDB.KEY
            + " text PRIMARY KEY" + columns + ")");
        return writeMarker(table, call);
    }

    private boolean dropEmptyTable(String table) throws NameTaken {
        UUID id = tableId(table);
        if (id == null || session.execute(select(table) + " LIMIT 1").one() != null) {
            return false;
        }
        session.execute("DROP TABLE " + qualified(table));
        if (hasMarkers()) {
            session.execute(SimpleStatement.newInstance(
                "DELETE FROM " + qualified(MARKERS) + " WHERE table_id = ? IF EXISTS", id));
        }
        return true;
    }

    /** How many there were. A deletion of CQL does not say whether there was a row. */
    private int deleteKeys(String table, JsonNode keys) {
        int present = forKeys(keys, select(table) + " WHERE " + CassandraDB.KEY + " = ?").get();
        if (present > 0) {
            forKeys(keys, "DELETE FROM " + qualified(table) + " WHERE " + CassandraDB.KEY + " = ?");
        }
        return present;
    }

    /** Executes the statement for each key, many at a time. Answers how many rows came back. */
    private AtomicInteger forKeys(JsonNode keys, String cql) {
        for (int attempt = 1;; attempt++) {
            try {
                return forKeysOnce(keys, cql);
            } catch (IllegalStateException e) {
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private AtomicInteger forKeysOnce(JsonNode keys, String cql) {
        PreparedStatement statement = session.prepare(cql);
        Semaphore room = new Semaphore(REQUESTS_IN_FLIGHT);
        AtomicInteger rows = new AtomicInteger();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        for (JsonNode key : keys) {
            room.acquireUninterruptibly();
            BoundStatement bound = statement.bind(key.asText());
            session.executeAsync(bound).whenComplete((result, thrown) -> {
                if (thrown != null) {
                    failure.compareAndSet(null, thrown);
                } else {
                    rows.addAndGet(result.remaining());
                }
                room.release();
            });
            if (failure.get() != null) {
                break;
            }
        }
        room.acquireUninterruptibly(REQUESTS_IN_FLIGHT);
        if (failure.get() != null) {
            throw new IllegalStateException(Failure.describe(failure.get()), failure.get());
        }
        return rows;
    }
}
