package org.benchsite.aerospike;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.Bin;
import com.aerospike.client.Info;
import com.aerospike.client.Key;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.cluster.Node;
import com.aerospike.client.policy.GenerationPolicy;
import com.aerospike.client.policy.InfoPolicy;
import com.aerospike.client.policy.Policy;
import com.aerospike.client.policy.RecordExistsAction;
import com.aerospike.client.policy.WritePolicy;
import org.benchsite.ycsb.AdminProgram;
import org.benchsite.ycsb.Settings;
import site.ycsb.DBException;

/**
 * The administration of an Aerospike namespace by the info protocol and single records.
 *
 * <p>The marker of a data set is a record of the set benchsite_markers, under the name of the data's set, written by
 * compare-and-set of its generation. The records of a set are counted by the nodes' own statistics, keys one by one.
 */
public final class Admin extends AdminProgram {
    private static final String MARKERS = "benchsite_markers";
    private static final String BIN = "marker";
    private static final int THREADS = 32;
    private static final String STAND_IN = "stand-in";

    private final Address address;
    private Settings settings;
    private AerospikeClient client;

    private Admin(Address address) {
        this.address = address;
    }

    public static void main(String[] args) throws IOException {
        serve(Admin::new);
    }

    /** The driver keeps itself connected. Other clients' properties have other names, and the address is theirs too. */
    @Override
    protected void connect() throws DBException {
        if (client == null) {
            Properties properties = new Properties();
            properties.putAll(address.properties);
            properties.setProperty("aerospike.hosts", address.hosts);
            properties.setProperty("aerospike.port", Integer.toString(address.port));
            properties.setProperty("aerospike.namespace", address.database);
            properties.setProperty("aerospike.user", address.user);
            properties.setProperty("aerospike.password", address.password);
            settings = new Settings(AerospikeDB.DECLARED, properties);
            client = SharedClient.open(settings, THREADS);
        }
    }

    @Override
    protected void ping() throws IOException {
        if (info("build").isEmpty()) {
            throw new IOException("no node is connected");
        }
    }

    @Override
    protected void prepare(Map<String, String> wanted) {
        throw new UnsupportedOperationException("Benchsite starts no Aerospike");
    }

    @Override
    protected String serverVersion() {
        return String.join(", ", new TreeSet<>(info("build")));
    }

    @Override
    protected String dataFolder() {
        return "";
    }

    @Override
    protected Map<String, String> readSettings(List<String> names) throws IOException {
        List<Map<String, String>> nodes = namespace();
        Map<String, String> values = new LinkedHashMap<>();
        for (String name : names) {
            TreeSet<String> different = new TreeSet<>();
            for (Map<String, String> node : nodes) {
                String value = node.getOrDefault(name, node.get("storage-engine." + name));
                if (value != null) {
                    different.add(value);
                }
            }
            if (!different.isEmpty()) {
                values.put(name, String.join(" and ", different));
            }
        }
        return values;
    }

    /** What each node states of the namespace: configuration and statistics. */
    private List<Map<String, String>> namespace() throws IOException {
        List<Map<String, String>> nodes = new ArrayList<>();
        for (String answer : info("namespace/" + address.database)) {
            Map<String, String> values = pairs(answer, ";");
            if (!values.containsKey("objects")) {
                throw new IOException("the cluster has no namespace " + address.database + ": add it to aerospike.conf, or "
                    + "name another one by aerospike.namespace");
            }
            nodes.add(values);
        }
        return nodes;
    }

    /** The share of reads that a node's own cache answered is a value: it counts neither hits nor misses. */
    @Override
    protected Counters counters() throws IOException {
        Counters counters = new Counters();
        List<Map<String, String>> nodes = namespace();
        for (Map<String, String> node : nodes) {
            if (node.containsKey("client_read_success")) {
                counters.count("reads", Double.parseDouble(node.get("client_read_success")));
            }
            if (node.containsKey("cache_read_pct")) {
                counters.value("cache_read_pct", Double.parseDouble(node.get("cache_read_pct")) / nodes.size());
            }
        }
        return counters;
    }

    @Override
    protected int replicas() throws IOException {
        return copies() - 1;
    }

    /** Of each record, among the nodes that are there. */
    private int copies() throws IOException {
        int copies = Integer.MAX_VALUE;
        for (Map<String, String> node : namespace()) {
            String factor = node.getOrDefault("effective_replication_factor", node.get("replication-factor"));
            copies = Math.min(copies, Integer.parseInt(factor));
        }
        return Math.min(copies, client.getNodes().length);
    }

    @Override
    protected Map<String, String> topology() throws IOException {
        Map<String, String> topology = new LinkedHashMap<>();
        topology.put("version", serverVersion());
        topology.put("edition", String.join(", ", new TreeSet<>(info("edition"))));
        topology.put("nodes", Integer.toString(client.getNodes().length));
        topology.put("replication_factor", readSettings(List.of("replication-factor")).get("replication-factor"));
        if (topology.get("edition").contains(STAND_IN)) {
            topology.put("stand_in", "wire stand-in");
        }
        return topology;
    }

    @Override
    protected String content(String table) throws IOException {
        return size(table) == 0 ? "" : "the records of set " + table;
    }

    /** Each node counts its copies of a set's records. */
    @Override
    protected long size(String table) throws IOException {
        int copies = copies();
        long objects = 0;
        for (String answer : info("sets/" + address.database + "/" + table)) {
            objects += Long.parseLong(pairs(answer.split(";")[0], ":").getOrDefault("objects", "0"));
        }
        return (objects + copies - 1) / copies;
    }

    @Override
    protected String readMarker(String table) throws NameTaken {
        Record record = client.get(reads(), markerKey(table));
        return record == null ? "" : marker(record);
    }

    private static String marker(Record record) throws NameTaken {
        Object marker = record.getValue(BIN);
        if (marker instanceof String) {
            return (String) marker;
        }
        throw new NameTaken("the set " + MARKERS + " is not Benchsite's");
    }

    @Override
    protected boolean writeMarker(String table, String marker, String replaces, List<String> fields)
        throws NameTaken {
        WritePolicy policy = writes();
        if (replaces.isEmpty()) {
            policy.recordExistsAction = RecordExistsAction.CREATE_ONLY;
        } else {
            Record present = client.get(reads(), markerKey(table));
            if (present == null || !marker(present).equals(replaces)) {
                return false;
            }
            policy.generationPolicy = GenerationPolicy.EXPECT_GEN_EQUAL;
            policy.generation = present.generation;
        }
        return applies(() -> client.put(policy, markerKey(table), new Bin(BIN, marker)));
    }

    /** Sets come into being with their first record. */
    @Override
    protected boolean createTable(String table, List<String> fields, String marker) {
        return false;
    }

    @Override
    protected boolean dropEmptyTable(String table) throws IOException {
        Record present = client.get(reads(), markerKey(table));
        if (present == null || size(table) > 0) {
            return false;
        }
        WritePolicy policy = writes();
        policy.generationPolicy = GenerationPolicy.EXPECT_GEN_EQUAL;
        policy.generation = present.generation;
        return applies(() -> client.delete(policy, markerKey(table)));
    }

    /** False where another process wrote the record first. */
    private static boolean applies(Runnable write) {
        try {
            write.run();
            return true;
        } catch (AerospikeException e) {
            int code = e.getResultCode();
            if (code == ResultCode.KEY_EXISTS_ERROR || code == ResultCode.GENERATION_ERROR) {
                return false;
            }
            throw e;
        }
    }

    @Override
    protected long countKeys(String table, List<String> keys) throws Exception {
        Policy policy = reads();
        return forKeys(keys, key -> client.exists(policy, new Key(address.database, table, key)));
    }

    @Override
    protected long deleteKeys(String table, List<String> keys) throws Exception {
        WritePolicy policy = writes();
        return forKeys(keys, key -> client.delete(policy, new Key(address.database, table, key)));
    }

    /** Of how many keys the call is true; several threads share them. */
    private static long forKeys(List<String> keys, Predicate<String> call) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<Long>> parts = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                List<String> part = keys.subList(keys.size() * thread / THREADS, keys.size() * (thread + 1) / THREADS);
                parts.add(threads.submit(() -> part.stream().filter(call).count()));
            }
            long total = 0;
            for (Future<Long> part : parts) {
                total += part.get();
            }
            return total;
        } finally {
            threads.shutdownNow();
        }
    }

    private Key markerKey(String table) {
        return new Key(address.database, MARKERS, table);
    }

    private Policy reads() {
        return SharedClient.once(new Policy(), settings);
    }

    private WritePolicy writes() {
        WritePolicy policy = SharedClient.once(new WritePolicy(), settings);
        policy.durableDelete = settings.flag("aerospike.durable_delete");
        return policy;
    }

    /** The answer of every node. */
    private List<String> info(String name) {
        InfoPolicy policy = new InfoPolicy();
        policy.timeout = settings.whole("aerospike.timeout_ms");
        List<String> answers = new ArrayList<>();
        for (Node node : client.getNodes()) {
            answers.add(Info.request(policy, node, name));
        }
        return answers;
    }

    private static Map<String, String> pairs(String text, String separator) {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (String pair : text.split(separator)) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                pairs.put(pair.substring(0, equals), pair.substring(equals + 1));
            }
        }
        return pairs;
    }
}
