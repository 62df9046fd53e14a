package org.benchsite.hbase;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.ServerMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableExistsException;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.util.Bytes;
import org.benchsite.ycsb.AdminProgram;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.Settings;
import site.ycsb.DBException;

/**
 * The administration of an HBase cluster.
 *
 * <p>The marker of a data set is a row of its table, before the rows of all records, so it goes with the table. It is
 * written by an atomic check of that row. Settings are read from the web interfaces of the region servers, as HBase has no
 * other call for them.
 */
public final class Admin extends AdminProgram {
    private static final byte[] MARKER_ROW = HbaseDB.bytes("benchsite:data-set");
    private static final byte[] MARKER = HbaseDB.bytes("marker");
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int ROWS_PER_CALL = 1000;
    private static final int REGIONS_PER_SERVER = 10;
    private static final int FIRST_KEY = 1000;
    private static final int LAST_KEY = 10_000;
    /** Where HBase's files are: the scheme of their address, and for local files whether Hadoop keeps checksums beside. */
    private static final String FILE_SYSTEM = "file_system";
    private static final String RAW_LOCAL = "org.apache.hadoop.fs.RawLocalFileSystem";

    private static final Map<String, String> COUNTS = Map.of(
        "blockCacheHitCount", "cache_hits", "blockCacheMissCount", "cache_misses", "blockCacheEvictionCount", "evictions",
        "FlushTime_num_ops", "flushes", "CompactionTime_num_ops", "compactions", "writtenBytes", "log_bytes",
        "appendCount", "log_writes", "SyncTime_num_ops", "log_syncs");
    private static final Map<String, String> VALUES = Map.of(
        "flushQueueLength", "flushes_pending", "compactionQueueLength", "compactions_pending", "regionCount", "regions");

    private final Address address;
    private final HttpClient http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
    private final Settings settings;
    private final byte[] family;
    private Connection connection;

    private Admin(Address address) {
        this.address = address;
        this.family = HbaseDB.bytes(address.database);
        Properties properties = new Properties();
        properties.putAll(address.properties);
        try {
            this.settings = new Settings(HbaseDB.DECLARED, properties);
        } catch (DBException e) {
            throw new IllegalArgumentException(e);
        }
    }

    public static void main(String[] args) throws IOException {
        serve(Admin::new);
    }

    @Override
    protected void connect() throws IOException {
        if (connection == null) {
            connection = SharedConnection.open(settings, address.hosts, address.port);
        }
    }

    @Override
    protected String describe(Exception thrown) {
        return thrown instanceof IOException ? HbaseDB.describe(thrown) : super.describe(thrown);
    }

    /** The master answers this call when it has assigned its own tables. */
    @Override
    protected void ping() throws IOException {
        try (org.apache.hadoop.hbase.client.Admin admin = connection.getAdmin()) {
            admin.listNamespaces();
        }
    }

    /** Nothing: the namespace of tables without one is there. */
    @Override
    protected void prepare(Map<String, String> settings) {
    }

    @Override
    protected String serverVersion() throws IOException {
        return metrics().getHBaseVersion();
    }

    private ClusterMetrics metrics() throws IOException {
        try (org.apache.hadoop.hbase.client.Admin admin = connection.getAdmin()) {
            return admin.getClusterMetrics(EnumSet.of(ClusterMetrics.Option.HBASE_VERSION,
                ClusterMetrics.Option.LIVE_SERVERS, ClusterMetrics.Option.DEAD_SERVERS));
        }
    }

    @Override
    protected String dataFolder() throws IOException {
        return Path.of(URI.create(nodeSetting("hbase.rootdir")).getPath()).getParent().toString();
    }

    @Override
    protected Map<String, String> readSettings(List<String> names) throws IOException {
        Map<String, String> values = new LinkedHashMap<>();
        for (String name : names) {
            String value = name.equals(FILE_SYSTEM) ? fileSystem() : nodeSetting(name);
            if (!value.isEmpty()) {
                values.put(name, value);
            }
        }
        return values;
    }

    private String fileSystem() throws IOException {
        String root = nodeSetting("hbase.rootdir");
        String scheme = root.contains(":") ? root.substring(0, root.indexOf(':')) : nodeSetting("fs.defaultFS");
        if (!scheme.equals("file")) {
            return scheme;
        }
        return nodeSetting("fs.file.impl").equals(RAW_LOCAL) ? "raw-local" : "local";
    }

    /** The values of all region servers, which each knows of itself only; empty where none knows the name. */
    private String nodeSetting(String name) throws IOException {
        TreeSet<String> values = new TreeSet<>();
        for (Map.Entry<ServerName, ServerMetrics> server : metrics().getLiveServerMetrics().entrySet()) {
            String value = configuration(server.getKey(), server.getValue().getInfoServerPort()).get(name);
            if (value != null) {
                values.add(value);
            }
        }
        return String.join(" and ", values);
    }

    private Map<String, String> configuration(ServerName server, int port) throws IOException {
        Map<String, String> values = new LinkedHashMap<>();
        for (JsonElement element : get(server, port, "/conf?format=json").getAsJsonArray("properties")) {
            JsonObject property = element.getAsJsonObject();
            values.put(property.get("key").getAsString(), property.get("value").getAsString());
        }
        return values;
    }

    /** What the web interface of a region server answers. */
    private JsonObject get(ServerName server, int port, String path) throws IOException {
        String host = server.getHostname().contains(":") ? "[" + server.getHostname() + "]" : server.getHostname();
        URI uri = URI.create("http://" + host + ":" + port + path);
        try {
            HttpResponse<String> response = http.send(
                HttpRequest.newBuilder(uri).timeout(TIMEOUT).build(), HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() != 200) {
                throw new IOException(uri + " answers with status " + response.statusCode());
            }
            return new Gson().fromJson(response.body(), JsonObject.class);
        } catch (IOException | JsonParseException e) {
            throw new IOException("the web interface of region server " + host + " does not answer on port " + port
                + " (hbase.regionserver.info.port): " + Failure.describe(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    /** Of HDFS, as the region servers request copies there; the data nodes themselves are not asked. */
    @Override
    protected int replicas() throws IOException {
        String copies = nodeSetting("dfs.replication");
        return fileSystem().equals("hdfs") && copies.matches("\\d{1,3}") ? Integer.parseInt(copies) - 1 : 0;
    }

    @Override
    protected Map<String, String> topology() throws IOException {
        ClusterMetrics metrics = metrics();
        Map<String, String> topology = new LinkedHashMap<>();
        topology.put("version", metrics.getHBaseVersion());
        topology.put("region_servers", String.valueOf(metrics.getLiveServerMetrics().size()));
        topology.put("dead_region_servers", String.valueOf(metrics.getDeadServerNames().size()));
        return topology;
    }

    /** Of master and region server together where they are one process. A sync of the log is hflush or hsync. */
    @Override
    protected Counters counters() throws IOException {
        Counters counters = new Counters();
        for (Map.Entry<ServerName, ServerMetrics> server : metrics().getLiveServerMetrics().entrySet()) {
            for (String bean : new String[] {"Server", "WAL"}) {
                JsonObject answer = get(server.getKey(), server.getValue().getInfoServerPort(),
                    "/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=" + bean);
                for (JsonElement metrics : answer.getAsJsonArray("beans")) {
                    JsonObject object = metrics.getAsJsonObject();
                    COUNTS.forEach((name, count) -> {
                        if (object.has(name)) {
                            counters.count(count, object.get(name).getAsDouble());
                        }
                    });
                    VALUES.forEach((name, value) -> {
                        if (object.has(name)) {
                            counters.value(value, object.get(name).getAsDouble());
                        }
                    });
                }
            }
        }
        return counters;
    }

    /** The other tables of the namespace; to count their rows would be to read them. */
    @Override
    protected Survey survey(String table) throws IOException {
        Survey survey = new Survey();
        TableName own = TableName.valueOf(table);
        try (org.apache.hadoop.hbase.client.Admin admin = connection.getAdmin()) {
            for (TableName name : admin.listTableNamesByNamespace(own.getNamespaceAsString())) {
                if (!name.equals(own)) {
                    survey.data.put(name.getNameAsString(), Survey.UNCOUNTED);
                }
            }
        }
        return survey;
    }

    @Override
    protected String content(String table) throws IOException {
        return exists(table) && count(table, 1) > 0 ? "the rows of table " + table : "";
    }

    @Override
    protected long size(String table) throws IOException {
        return count(table, Integer.MAX_VALUE);
    }

    /** Rows but the marker's, `limit` at most. */
    private long count(String table, int limit) throws IOException {
        Scan scan = new Scan().setFilter(new FirstKeyOnlyFilter()).setCaching(Math.min(limit + 1, ROWS_PER_CALL))
            .setCacheBlocks(false);
        long rows = 0;
        try (Table data = table(table); ResultScanner results = data.getScanner(scan)) {
            for (Result row = results.next(); row != null && rows < limit; row = results.next()) {
                rows += Bytes.equals(row.getRow(), MARKER_ROW) ? 0 : 1;
            }
        }
        return rows;
    }

    private Table table(String name) throws IOException {
        return connection.getTable(TableName.valueOf(name));
    }

    private boolean exists(String table) throws IOException {
        try (org.apache.hadoop.hbase.client.Admin admin = connection.getAdmin()) {
            TableName name = TableName.valueOf(table);
            if (!admin.tableExists(name)) {
                return false;
            }
            if (admin.getDescriptor(name).hasColumnFamily(family)) {
                return true;
            }
        }
        throw new IllegalArgumentException("table " + table + " has no column family " + address.database
            + ", which the workload's records need. Name another one by hbase.family, or choose another table by the "
            + "workload's table");
    }

    @Override
    protected String readMarker(String table) throws IOException, NameTaken {
        if (!exists(table)) {
            return "";
        }
        try (Table data = table(table)) {
            Result row = data.get(new Get(MARKER_ROW));
            if (!row.isEmpty() && (row.size() > 1 || !row.containsColumn(family, MARKER))) {
                throw new NameTaken("the row " + Bytes.toString(MARKER_ROW) + " of table " + table
                    + " is not a marker of Benchsite");
            }
            return row.isEmpty() ? "" : Bytes.toString(row.getValue(family, MARKER));
        }
    }

    /** Columns need no declaration, so the record's fields cannot be missing. */
    @Override
    protected boolean writeMarker(String table, String marker, String replaces, List<String> fields)
        throws IOException {
        if (!exists(table)) {
            return false;
        }
        CheckAndMutate.Builder check = CheckAndMutate.newBuilder(MARKER_ROW);
        if (replaces.isEmpty()) {
            check.ifNotExists(family, MARKER);
        } else {
            check.ifEquals(family, MARKER, Bytes.toBytes(replaces));
        }
        try (Table data = table(table)) {
            Put put = new Put(MARKER_ROW).addColumn(family, MARKER, Bytes.toBytes(marker));
            return data.checkAndMutate(check.build(put)).isSuccess();
        }
    }

    /** The first keys of the regions but one, even over YCSB's hashed keys, whose numbers begin with any digit but 0. */
    private byte[][] splits() throws IOException {
        int count = settings.whole("hbase.splits");
        if (count == 0) {
            count = REGIONS_PER_SERVER * metrics().getLiveServerMetrics().size() - 1;
        }
        byte[][] keys = new byte[count][];
        for (int i = 1; i <= count; i++) {
            keys[i - 1] = HbaseDB.bytes("user" + (FIRST_KEY + i * (LAST_KEY - FIRST_KEY) / (count + 1)));
        }
        return keys;
    }

    /** Whether this call made the table and its marker, of which another process may have been quicker with either. */
    @Override
    protected boolean createTable(String table, List<String> fields, String marker) throws IOException {
        if (exists(table)) {
            return false;
        }
        try (org.apache.hadoop.hbase.client.Admin admin = connection.getAdmin()) {
            admin.createTable(TableDescriptorBuilder.newBuilder(TableName.valueOf(table))
                .setColumnFamily(ColumnFamilyDescriptorBuilder.of(family)).build(), splits());
        } catch (TableExistsException e) {
            return false;
        }
        return writeMarker(table, marker, "", fields);
    }

    @Override
    protected boolean dropEmptyTable(String table) throws IOException {
        if (!exists(table) || count(table, 1) > 0) {
            return false;
        }
        try (org.apache.hadoop.hbase.client.Admin admin = connection.getAdmin()) {
            admin.disableTable(TableName.valueOf(table));
            admin.deleteTable(TableName.valueOf(table));
        }
        return true;
    }

    @Override
    protected long countKeys(String table, List<String> keys) throws IOException {
        long rows = 0;
        try (Table data = table(table)) {
            for (List<String> batch : batches(keys)) {
                rows += count(existing(data, batch));
            }
        }
        return rows;
    }

    @Override
    protected long deleteKeys(String table, List<String> keys) throws IOException {
        long rows = 0;
        try (Table data = table(table)) {
            for (List<String> batch : batches(keys)) {
                boolean[] existing = existing(data, batch);
                List<Delete> deletes = new ArrayList<>();
                for (int i = 0; i < existing.length; i++) {
                    if (existing[i]) {
                        deletes.add(new Delete(HbaseDB.bytes(batch.get(i))));
                    }
                }
                data.delete(deletes);
                rows += count(existing);
            }
        }
        return rows;
    }

    private static boolean[] existing(Table data, List<String> keys) throws IOException {
        List<Get> gets = new ArrayList<>();
        keys.forEach(key -> gets.add(new Get(HbaseDB.bytes(key))));
        return data.exists(gets);
    }

    private static int count(boolean[] flags) {
        int count = 0;
        for (boolean flag : flags) {
            count += flag ? 1 : 0;
        }
        return count;
    }

    private static List<List<String>> batches(List<String> keys) {
        List<List<String>> batches = new ArrayList<>();
        for (int first = 0; first < keys.size(); first += ROWS_PER_CALL) {
            batches.add(keys.subList(first, Math.min(first + ROWS_PER_CALL, keys.size())));
        }
        return batches;
    }
}
