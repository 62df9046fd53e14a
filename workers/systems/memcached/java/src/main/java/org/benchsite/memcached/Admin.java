package org.benchsite.memcached;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;

import org.benchsite.ycsb.AdminProgram;
import org.benchsite.ycsb.Settings;
import site.ycsb.DBException;

/**
 * The administration of memcached servers, release 1.6 or newer.
 *
 * <p>The marker of a data set is an item of the first server, written by add and compare-and-set.
 */
public final class Admin extends AdminProgram {
    private static final byte[] MARKER = "benchsite:data-set".getBytes(UTF_8);
    private static final int MAX_CRAWLER_PAUSES = 500;
    private static final long CRAWLER_PAUSE_MS = 20;
    /** So that the answers of one piece fit into the buffers of a connection that nobody reads yet. */
    private static final int KEYS_PER_PIECE = 1000;
    private static final int BYTES_PER_MB = 1024 * 1024;
    private static final Map<String, String> COUNTS = Map.of(
        "get_hits", "cache_hits",
        "get_misses", "cache_misses",
        "cmd_set", "writes",
        "evictions", "evictions");

    private final Settings settings;
    private Servers servers;

    private Admin(Address address) {
        Properties properties = new Properties();
        properties.putAll(address.properties);
        try {
            settings = new Settings(MemcachedDB.DECLARED, properties);
        } catch (DBException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    public static void main(String[] args) throws IOException {
        serve(Admin::new);
    }

    /** Connections are made anew after each call, as a server may have been started again since the last. */
    @Override
    protected void connect() {
        if (servers != null) {
            servers.close();
        }
        servers = new Servers(settings);
    }

    @Override
    protected void ping() throws IOException, GeneralSecurityException {
        servers.get(0).version();
    }

    @Override
    protected void prepare(Map<String, String> schema) {
        // Nothing: a server has no schema.
    }

    @Override
    protected String serverVersion() throws IOException, GeneralSecurityException {
        return String.join(", ", ofAll("", "version"));
    }

    /** A server that Benchsite starts reads its users from a file beside that folder; others have none. */
    @Override
    protected String dataFolder() throws IOException, GeneralSecurityException {
        Path users = Path.of(servers.get(0).stats("settings").getOrDefault("auth_enabled_ascii", "no"));
        return users.isAbsolute() ? users.resolveSibling("data").toString() : "";
    }

    @Override
    protected Map<String, String> readSettings(List<String> names) throws IOException, GeneralSecurityException {
        Map<String, String> found = new LinkedHashMap<>();
        for (String name : names) {
            TreeSet<String> values = new TreeSet<>();
            for (int server = 0; server < servers.count(); server++) {
                String value = setting(name, servers.get(server).stats("settings"));
                if (value != null) {
                    values.add(value);
                }
            }
            if (!values.isEmpty()) {
                found.put(name, String.join(" and ", values));
            }
        }
        return found;
    }

    /** By the names of the command line; null for a name that the server does not report. */
    private static String setting(String name, Map<String, String> stats) {
        switch (name) {
            case "memory-limit":
                return String.valueOf(Long.parseLong(stats.get("maxbytes")) / BYTES_PER_MB);
            case "threads":
                return stats.get("num_threads");
            case "conn-limit":
                return stats.get("maxconns");
            case "max-item-size":
                return stats.get("item_size_max");
            case "disable-evictions":
                return String.valueOf(stats.get("evictions").equals("off"));
            default:
                return null;
        }
    }

    /** Servers keep no copies of each other's items. */
    @Override
    protected int replicas() {
        return 0;
    }

    /** A server that was started again has another process id, and has lost its items. */
    @Override
    protected Map<String, String> topology() throws IOException, GeneralSecurityException {
        int up = 0;
        for (int server = 0; server < servers.count(); server++) {
            try {
                servers.get(server);
                up++;
            } catch (IOException e) {
                // It is not counted.
            }
        }
        Map<String, String> topology = new LinkedHashMap<>();
        topology.put("nodes", String.valueOf(servers.count()));
        topology.put("nodes_up", String.valueOf(up));
        if (up == servers.count()) {
            topology.put("version", serverVersion());
            topology.put("process_ids", String.join(", ", ofAll("", "pid")));
        }
        return topology;
    }

    @Override
    protected Counters counters() throws IOException, GeneralSecurityException {
        Counters counters = new Counters();
        for (int server = 0; server < servers.count(); server++) {
            Map<String, String> stats = servers.get(server).stats("");
            COUNTS.forEach((name, count) -> counters.count(count, Double.parseDouble(stats.get(name))));
            counters.value("memory_used_bytes", Double.parseDouble(stats.get("bytes")));
        }
        return counters;
    }

    /** A server's own count has the sockets at which it listens. */
    @Override
    protected Survey survey(String table) throws IOException, GeneralSecurityException {
        Survey survey = new Survey();
        for (int server = 0; server < servers.count(); server++) {
            Map<String, String> stats = servers.get(server).stats("");
            if (stats.containsKey("max_connections")) {
                survey.limitConnections(
                    Long.parseLong(stats.get("curr_connections")), Long.parseLong(stats.get("max_connections")));
            }
        }
        return survey;
    }

    private TreeSet<String> ofAll(String kind, String name) throws IOException, GeneralSecurityException {
        TreeSet<String> values = new TreeSet<>();
        for (int server = 0; server < servers.count(); server++) {
            String value = servers.get(server).stats(kind).get(name);
            if (value == null) {
                throw new IOException("the server states no " + name);
            }
            values.add(value);
        }
        return values;
    }

    @Override
    protected String content(String table) throws IOException, GeneralSecurityException {
        long items = size(table);
        return items == 0 ? "" : items + " items";
    }

    @Override
    protected long size(String table) throws IOException, GeneralSecurityException {
        long items = readMarker(table).isEmpty() ? 0 : -1;
        for (int server = 0; server < servers.count(); server++) {
            items += items(servers.get(server));
        }
        return items;
    }

    /**
     * How many items the server has. Its own count holds those that have expired or were flushed until its crawler has
     * removed them, so the crawler runs first.
     */
    private static long items(Connection server) throws IOException {
        long items = Long.parseLong(server.stats("").get("curr_items"));
        if (items > 0 && server.command("lru_crawler crawl all").equals("OK")) {
            for (int i = 0; i < MAX_CRAWLER_PAUSES && server.stats("").get("lru_crawler_running").equals("1"); i++) {
                pause();
            }
            items = Long.parseLong(server.stats("").get("curr_items"));
        }
        return items;
    }

    private static void pause() throws IOException {
        try {
            Thread.sleep(CRAWLER_PAUSE_MS);
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    @Override
    protected String readMarker(String table) throws IOException, GeneralSecurityException {
        Connection.Item item = servers.get(0).get("get", MARKER);
        return item == null ? "" : new String(item.value, UTF_8);
    }

    @Override
    protected boolean writeMarker(String table, String marker, String replaces, List<String> fields)
        throws IOException, GeneralSecurityException {
        byte[] value = marker.getBytes(UTF_8);
        if (replaces.isEmpty()) {
            return isStored(servers.get(0).store("add", MARKER, value, ""));
        }
        Connection.Item item = servers.get(0).get("gets", MARKER);
        return item != null && new String(item.value, UTF_8).equals(replaces)
            && isStored(servers.get(0).store("cas", MARKER, value, item.cas));
    }

    private static boolean isStored(String answer) {
        if (answer.startsWith("SERVER_ERROR") || answer.contains("ERROR")) {
            throw new Connection.Refused(answer);
        }
        return answer.equals("STORED");
    }

    @Override
    protected boolean createTable(String table, List<String> fields, String marker) {
        return false;
    }

    @Override
    protected boolean dropEmptyTable(String table) throws IOException, GeneralSecurityException {
        return size(table) == 0 && servers.get(0).command("delete " + new String(MARKER, UTF_8)).equals("DELETED");
    }

    /** By meta commands, which do not transfer the values. */
    @Override
    protected long countKeys(String table, List<String> keys) throws IOException, GeneralSecurityException {
        return commands("mg", keys, "HD", "EN");
    }

    @Override
    protected long deleteKeys(String table, List<String> keys) throws IOException, GeneralSecurityException {
        return commands("delete", keys, "DELETED", "NOT_FOUND");
    }

    /** How many of the keys, each asked of its own server, were answered by `present`. */
    private long commands(String verb, List<String> keys, String present, String absent)
        throws IOException, GeneralSecurityException {
        List<List<String>> keysOf = new ArrayList<>();
        for (int server = 0; server < servers.count(); server++) {
            keysOf.add(new ArrayList<>());
        }
        for (String key : keys) {
            Servers.bytes(key);
            keysOf.get(servers.serverOf(key)).add(key);
        }
        long count = 0;
        for (int server = 0; server < keysOf.size(); server++) {
            List<String> own = keysOf.get(server);
            for (int first = 0; first < own.size(); first += KEYS_PER_PIECE) {
                List<String> piece = own.subList(first, Math.min(first + KEYS_PER_PIECE, own.size()));
                for (String line : servers.get(server).commands(verb, piece)) {
                    if (!line.startsWith(present) && !line.startsWith(absent)) {
                        throw new Connection.Refused(line);
                    }
                    count += line.startsWith(present) ? 1 : 0;
                }
            }
        }
        return count;
    }
}
