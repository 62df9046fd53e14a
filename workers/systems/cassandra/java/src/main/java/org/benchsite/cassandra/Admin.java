package org.benchsite.cassandra;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;

import com.datastax.oss.driver.api.core.AllNodesFailedException;
import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.cql.AsyncResultSet;
import com.datastax.oss.driver.api.core.cql.BoundStatement;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.cql.Statement;
import com.datastax.oss.driver.api.core.metadata.Node;
import com.datastax.oss.driver.api.core.metadata.NodeState;
import com.datastax.oss.driver.api.core.servererrors.ReadFailureException;
import com.datastax.oss.driver.api.core.servererrors.ReadTimeoutException;
import com.datastax.oss.driver.api.core.servererrors.UnauthorizedException;
import org.benchsite.ycsb.AdminProgram;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import site.ycsb.DBException;

/**
 * The administration of a Cassandra cluster.
 *
 * <p>The markers of data sets lie in the table benchsite_markers of the keyspace, under the id of the table that they
 * speak of: a table that is dropped and made again has another id, so it never inherits a marker. They are written by
 * lightweight transactions. Everything is read and written at QUORUM, or at ONE where the nodes are too few for a quorum
 * of the copies: there are no lightweight transactions then.
 */
public final class Admin extends AdminProgram {
    private static final String MARKERS = "benchsite_markers";
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final Duration COUNTERS_TIMEOUT = Duration.ofSeconds(4);
    private static final Map<String, String> CACHES = Map.of("chunks", "", "keys", "key_", "rows", "row_");
    private static final Map<String, String> POOLS = Map.of("CompactionExecutor", "compactions",
        "MemtableFlushWriter", "flushes", "MutationStage", "writes", "ReadStage", "reads",
        "Native-Transport-Requests", "requests");
    private static final int REQUESTS_IN_FLIGHT = 64;
    private static final Pattern CONNECTION = Pattern.compile("\\[s\\d+\\|[^\\]]*\\] ");
    /** No smaller range of tokens is halved: a server that still gives up has another reason. */
    private static final long MIN_TOKENS = 1L << 40;
    /** A cluster that has just started answers its first requests late. */
    private static final int ATTEMPTS = 5;

    private final Address address;
    private final String keyspace;
    private CqlSession session;
    private boolean lacksQuorum;

    private Admin(Address address) {
        this.address = address;
        this.keyspace = address.database;
    }

    public static void main(String[] args) throws IOException {
        serve(Admin::new);
    }

    /** What the first node that failed says, without the driver's description of its connection. */
    @Override
    protected String describe(Exception thrown) {
        Throwable reason = thrown;
        if (thrown instanceof AllNodesFailedException) {
            reason = ((AllNodesFailedException) thrown).getAllErrors().values().stream()
                .flatMap(List::stream).findFirst().orElse(thrown);
        }
        return CONNECTION.matcher(Failure.describe(reason)).replaceAll("");
    }

    @Override
    protected void ping() {
        session.execute("SELECT release_version FROM system.local");
    }

    @Override
    protected int replicas() {
        return Math.min(copies(), nodesUp()) - 1;
    }

    @Override
    protected String content(String table) {
        return tableId(table) != null && count(table, 1) > 0 ? "the rows of table " + table : "";
    }

    /** A node estimates the partitions of its own tokens, of what is on its disk. */
    @Override
    protected Survey survey(String table) {
        Map<String, Long> partitions = new HashMap<>();
        try {
            session.execute(SimpleStatement.newInstance(
                "SELECT table_name, partitions_count FROM system.size_estimates WHERE keyspace_name = ?", keyspace)
                .setConsistencyLevel(ConsistencyLevel.ONE))
                .forEach(row -> partitions.merge(row.getString(0), row.getLong(1), Long::sum));
        } catch (UnauthorizedException e) {
            // Every role may read the names of tables, and not every one the estimates.
        }
        Survey survey = new Survey();
        session.execute(SimpleStatement.newInstance(
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?", keyspace)).forEach(row -> {
                String name = row.getString(0);
                if (!List.of(table, MARKERS).contains(name)) {
                    long count = partitions.getOrDefault(name, 0L);
                    survey.data.put(name, count > 0 ? count : Survey.UNCOUNTED);
                }
            });
        return survey;
    }

    @Override
    protected long countKeys(String table, List<String> keys) {
        return forKeys(keys, select(table) + " WHERE " + CassandraDB.KEY + " = ?").get();
    }

    /** The driver keeps the session connected; one that could not be opened is opened with the next call. */
    @Override
    protected void connect() throws DBException, IOException {
        if (session != null) {
            return;
        }
        session = open(ConsistencyLevel.QUORUM);
        lacksQuorum = keyspaceRow() != null && copies() / 2 + 1 > session.getMetadata().getNodes().size();
        if (lacksQuorum) {
            session.close();
            session = open(ConsistencyLevel.ONE);
        }
    }

    private CqlSession open(ConsistencyLevel consistency) throws DBException, IOException {
        Properties tls = new Properties();
        tls.putAll(address.properties);
        // YCSB's own client has further properties that begin like those of the binding.
        tls.keySet().removeIf(name -> !name.toString().startsWith("cassandra.tls"));
        return SharedSession
            .builder(address.hosts, address.port, address.user, address.password, "",
                new Settings(Tls.properties("cassandra"), tls))
            .withConfigLoader(SharedSession.config(TIMEOUT, "")
                .withString(DefaultDriverOption.LOAD_BALANCING_POLICY_CLASS, "BasicLoadBalancingPolicy")
                .withString(DefaultDriverOption.REQUEST_CONSISTENCY, consistency.name())
                .build())
            .build();
    }

    /** Makes the keyspace where it is not there; the next call connects anew, for its copies. */
    @Override
    protected void prepare(Map<String, String> settings) {
        session.execute("CREATE KEYSPACE IF NOT EXISTS " + CassandraDB.quote(keyspace)
            + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': "
            + Integer.parseInt(settings.getOrDefault("replication_factor", "1")) + "} AND durable_writes = "
            + !settings.getOrDefault("durable_writes", "true").equals("false"));
        session.close();
        session = null;
    }

    @Override
    protected String serverVersion() {
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

    @Override
    protected Map<String, String> topology() {
        Map<String, String> topology = new LinkedHashMap<>();
        topology.put("version", serverVersion());
        topology.put("nodes", String.valueOf(session.getMetadata().getNodes().size()));
        topology.put("nodes_up", String.valueOf(nodesUp()));
        if (keyspaceRow() != null) {
            topology.put("replication_factor", String.valueOf(copies()));
            topology.put("replication", replication().toString());
        }
        return topology;
    }

    /** Those of the clients' data centre: their driver refuses contact points of several. */
    @Override
    protected List<String> listNodes() {
        String dataCentre = dataCentre();
        List<String> addresses = new ArrayList<>();
        for (Node node : nodes()) {
            if (dataCentre.equals(node.getDatacenter())) {
                InetSocketAddress address = socketAddress(node);
                String host = address.getAddress().getHostAddress();
                addresses.add((host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort());
            }
        }
        return addresses;
    }

    /** The one that clients are told, else that of the first contact point which is a node by this address. */
    private String dataCentre() {
        Map<InetSocketAddress, String> dataCentres = new HashMap<>();
        nodes().forEach(node -> dataCentres.put(socketAddress(node), String.valueOf(node.getDatacenter())));
        String dataCentre = address.properties.getOrDefault("cassandra.local_dc", "");
        for (String host : address.hosts.split(",")) {
            if (dataCentre.isEmpty()) {
                dataCentre = dataCentres.getOrDefault(new InetSocketAddress(host.trim(), address.port), "");
            }
        }
        return dataCentre;
    }

    private static InetSocketAddress socketAddress(Node node) {
        return (InetSocketAddress) node.getEndPoint().resolve();
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

    @Override
    protected Map<String, String> readSettings(List<String> names) {
        Map<String, String> settings = new LinkedHashMap<>();
        for (String name : names) {
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

    /**
     * From the virtual tables of Cassandra 4.0 and newer, which each node has of itself. The chunk cache (setting
     * file_cache_enabled) is the only one that holds data as it is read, so hits of the others have names of their own.
     */
    @Override
    protected Counters counters() {
        List<CompletionStage<AsyncResultSet>> caches = new ArrayList<>();
        List<CompletionStage<AsyncResultSet>> pools = new ArrayList<>();
        for (Node node : nodes()) {
            if (node.getState() != NodeState.DOWN) {
                caches.add(ofNode(node, "SELECT name, hit_count, request_count FROM system_views.caches"));
                pools.add(ofNode(node, "SELECT name, completed_tasks, active_tasks, pending_tasks FROM system_views.thread_pools"));
            }
        }
        Counters counters = new Counters();
        caches.forEach(rows -> rows.toCompletableFuture().join().currentPage().forEach(row -> {
            String prefix = CACHES.get(row.getString(0));
            if (prefix != null) {
                counters.count(prefix + "cache_hits", number(row, 1));
                counters.count(prefix + "cache_misses", number(row, 2) - number(row, 1));
            }
        }));
        pools.forEach(rows -> rows.toCompletableFuture().join().currentPage().forEach(row -> {
            String tasks = POOLS.get(row.getString(0));
            if (tasks != null) {
                counters.count(tasks, number(row, 1));
                counters.value(tasks + "_pending", number(row, 2) + number(row, 3));
            }
        }));
        return counters;
    }

    /** Columns of the virtual tables are of int or of bigint. */
    private static double number(Row row, int column) {
        return ((Number) row.getObject(column)).doubleValue();
    }

    private CompletionStage<AsyncResultSet> ofNode(Node node, String cql) {
        return session.executeAsync(SimpleStatement.newInstance(cql)
            .setConsistencyLevel(ConsistencyLevel.ONE).setNode(node).setTimeout(COUNTERS_TIMEOUT));
    }

    /** Of the node that answers: while a cluster starts, others may be known and not there yet. */
    @Override
    protected String dataFolder() {
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

    @Override
    protected long size(String table) {
        return count(table, Integer.MAX_VALUE);
    }

    /**
     * Rows, `limit` at most. A node gives up a read that meets 100,000 deleted rows (tombstone_failure_threshold), as
     * are there behind a data set that was deleted: then each half of the tokens is read by itself.
     */
    private long count(String table, int limit) {
        if (!isHashed()) {
            return count(SimpleStatement.newInstance(select(table) + " LIMIT " + limit));
        }
        PreparedStatement part = session.prepare(select(table) + " WHERE token(" + CassandraDB.KEY + ") >= ? AND token("
            + CassandraDB.KEY + ") <= ? LIMIT ?");
        Deque<long[]> ranges = new ArrayDeque<>(List.of(new long[] {Long.MIN_VALUE, Long.MAX_VALUE}));
        long rows = 0;
        while (!ranges.isEmpty() && rows < limit) {
            long[] range = ranges.pop();
            try {
                rows += count(part.bind(range[0], range[1], (int) (limit - rows)));
            } catch (ReadFailureException | ReadTimeoutException e) {
                long middle = Math.floorDiv(range[0], 2) + Math.floorDiv(range[1], 2);
                if (middle - range[0] < MIN_TOKENS) {
                    throw e;
                }
                ranges.push(new long[] {middle + 1, range[1]});
                ranges.push(new long[] {range[0], middle});
            }
        }
        return rows;
    }

    private long count(Statement<?> statement) {
        long rows = 0;
        for (ResultSet result = session.execute(statement); result.iterator().hasNext(); result.iterator().next()) {
            rows++;
        }
        return rows;
    }

    /** Whether tokens are the 64-bit hashes of Murmur3Partitioner. */
    private boolean isHashed() {
        return session.execute("SELECT partitioner FROM system.local").one().getString(0).endsWith("Murmur3Partitioner");
    }

    @Override
    protected String readMarker(String table) throws NameTaken {
        UUID id = tableId(table);
        if (id == null || !hasMarkers()) {
            return "";
        }
        Row row = session.execute(SimpleStatement
            .newInstance("SELECT marker FROM " + qualified(MARKERS) + " WHERE table_id = ?", id)
            .setConsistencyLevel(lacksQuorum ? ConsistencyLevel.ONE : ConsistencyLevel.SERIAL)).one();
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

    @Override
    protected boolean writeMarker(String table, String marker, String replaces, List<String> fields)
        throws NameTaken {
        UUID id = tableId(table);
        if (id == null) {
            return false;
        }
        List<String> columns = columns(table);
        for (String field : fields) {
            if (!columns.contains(field) || !columns.contains(CassandraDB.KEY)) {
                String missing = columns.contains(CassandraDB.KEY) ? field : CassandraDB.KEY;
                throw new IllegalArgumentException("Table " + table + " of keyspace " + keyspace + " has no column "
                    + missing + ", which the workload's records need. Drop the table, or choose another by the "
                    + "workload's table");
            }
        }
        if (!hasMarkers()) {
            session.execute("CREATE TABLE IF NOT EXISTS " + qualified(MARKERS)
                + " (table_id uuid PRIMARY KEY, marker text)");
        }
        if (lacksQuorum) {
            boolean isAsExpected = readMarker(table).equals(replaces);
            if (isAsExpected) {
                session.execute(SimpleStatement.newInstance(
                    "INSERT INTO " + qualified(MARKERS) + " (table_id, marker) VALUES (?, ?)", id, marker));
            }
            return isAsExpected;
        }
        SimpleStatement write = replaces.isEmpty()
            ? SimpleStatement.newInstance("INSERT INTO " + qualified(MARKERS)
                + " (table_id, marker) VALUES (?, ?) IF NOT EXISTS", id, marker)
            : SimpleStatement.newInstance("UPDATE " + qualified(MARKERS)
                + " SET marker = ? WHERE table_id = ? IF marker = ?", marker, id, replaces);
        return session.execute(write).wasApplied();
    }

    /** Whether this call made the table and its marker, of which another process may have been quicker with either. */
    @Override
    protected boolean createTable(String table, List<String> fields, String marker) throws NameTaken {
        if (tableId(table) != null) {
            return false;
        }
        StringBuilder columns = new StringBuilder();
        fields.forEach(field -> columns.append(", ").append(CassandraDB.quote(field)).append(" text"));
        session.execute("CREATE TABLE IF NOT EXISTS " + qualified(table) + " (" + CassandraDB.KEY
            + " text PRIMARY KEY" + columns + ")"
            + (hasRowCache() ? " WITH caching = {'keys': 'ALL', 'rows_per_partition': 'ALL'}" : ""));
        return writeMarker(table, marker, "", fields);
    }

    /** "10240MiB", or 0 with any unit; before 4.1 a number of MB under another name. */
    private boolean hasRowCache() {
        TreeSet<String> sizes = nodeSetting("row_cache_size");
        sizes.addAll(nodeSetting("row_cache_size_in_mb"));
        return sizes.stream().anyMatch(size -> size.matches("[1-9].*"));
    }

    @Override
    protected boolean dropEmptyTable(String table) throws NameTaken {
        UUID id = tableId(table);
        if (id == null || count(table, 1) > 0) {
            return false;
        }
        session.execute("DROP TABLE " + qualified(table));
        if (hasMarkers()) {
            session.execute(SimpleStatement.newInstance(
                "DELETE FROM " + qualified(MARKERS) + " WHERE table_id = ?" + (lacksQuorum ? "" : " IF EXISTS"), id));
        }
        return true;
    }

    /** How many there were. A deletion of CQL does not say whether there was a row. */
    @Override
    protected long deleteKeys(String table, List<String> keys) {
        int present = forKeys(keys, select(table) + " WHERE " + CassandraDB.KEY + " = ?").get();
        if (present > 0) {
            forKeys(keys, "DELETE FROM " + qualified(table) + " WHERE " + CassandraDB.KEY + " = ?");
        }
        return present;
    }

    /** Executes the statement for each key, many at a time. Answers how many rows came back. */
    private AtomicInteger forKeys(List<String> keys, String cql) {
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

    private AtomicInteger forKeysOnce(List<String> keys, String cql) {
        PreparedStatement statement = session.prepare(cql);
        Semaphore room = new Semaphore(REQUESTS_IN_FLIGHT);
        AtomicInteger rows = new AtomicInteger();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        for (String key : keys) {
            room.acquireUninterruptibly();
            BoundStatement bound = statement.bind(key);
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
