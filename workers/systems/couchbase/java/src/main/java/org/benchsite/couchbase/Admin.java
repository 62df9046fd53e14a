package org.benchsite.couchbase;

import java.io.IOException;
import java.net.Socket;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

import com.couchbase.client.core.error.CasMismatchException;
import com.couchbase.client.core.error.DecodingFailureException;
import com.couchbase.client.core.error.DocumentExistsException;
import com.couchbase.client.core.error.DocumentNotFoundException;
import com.couchbase.client.core.service.ServiceType;
import com.couchbase.client.core.topology.ClusterTopologyWithBucket;
import com.couchbase.client.core.topology.CouchbaseBucketTopology;
import com.couchbase.client.core.topology.HostAndServicePorts;
import com.couchbase.client.java.AsyncCollection;
import com.couchbase.client.java.Collection;
import com.couchbase.client.java.http.HttpPath;
import com.couchbase.client.java.http.HttpResponse;
import com.couchbase.client.java.http.HttpTarget;
import com.couchbase.client.java.json.JsonObject;
import com.couchbase.client.java.kv.GetResult;
import com.couchbase.client.java.kv.LookupInSpec;
import com.couchbase.client.java.kv.RemoveOptions;
import com.couchbase.client.java.kv.ReplaceOptions;
import org.benchsite.ycsb.AdminProgram;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import site.ycsb.DBException;

/**
 * The administration of a Couchbase bucket, without its query service.
 *
 * <p>The marker of a data set is a document of the bucket, written by compare-and-swap. Documents are counted by the
 * nodes' own statistics, keys one by one.
 */
public final class Admin extends AdminProgram {
    private static final String MARKER = "benchsite:data-set";
    private static final String FIELD = "marker";
    private static final int REQUESTS_IN_FLIGHT = 64;
    /** Buckets before 6.6 have no such setting. */
    private static final String MIN_LEVEL = "durabilityMinLevel";
    private static final String MOCK = "CouchbaseMock";

    private final Address address;
    private Settings settings;
    private SharedCluster shared;

    private Admin(Address address) {
        this.address = address;
    }

    public static void main(String[] args) throws IOException {
        serve(Admin::new);
    }

    /** The SDK keeps itself connected. */
    @Override
    protected void connect() throws DBException {
        if (shared == null) {
            Properties properties = new Properties();
            properties.putAll(address.properties);
            properties.setProperty("couchbase.hosts", address.hosts);
            settings = new Settings(CouchbaseDB.DECLARED, properties);
            shared = SharedCluster.open(settings);
        }
    }

    @Override
    protected String describe(Exception thrown) {
        return CouchbaseDB.text(thrown);
    }

    private Collection documents() {
        return shared.bucket.defaultCollection();
    }

    @Override
    protected void ping() throws IOException {
        ofEachNode(KeyValueNode::version);
    }

    @Override
    protected void prepare(Map<String, String> wanted) {
        throw new UnsupportedOperationException("Benchsite starts no Couchbase");
    }

    @Override
    protected String serverVersion() throws IOException {
        return String.join(", ", new TreeSet<>(ofEachNode(KeyValueNode::version).values()));
    }

    @Override
    protected String dataFolder() {
        return "";
    }

    @Override
    protected Map<String, String> readSettings(List<String> names) throws Exception {
        HttpResponse response = shared.cluster.httpClient().get(
            HttpTarget.manager(), HttpPath.of("/pools/default/buckets/{}", shared.bucket.name()));
        if (!response.success()) {
            throw new IOException("the settings of bucket " + shared.bucket.name() + " cannot be read (HTTP "
                + response.statusCode() + "): does user " + settings.text("couchbase.user") + " have a role for it?");
        }
        JsonObject bucket = JsonObject.fromJson(response.contentAsString());
        Map<String, String> values = new LinkedHashMap<>();
        for (String name : names) {
            if (bucket.containsKey(name)) {
                values.put(name, String.valueOf(bucket.get(name)));
            } else if (name.equals(MIN_LEVEL)) {
                values.put(name, "none");
            }
        }
        return values;
    }

    @Override
    protected int replicas() {
        return Math.min(copies(), cluster().nodes().size() - 1);
    }

    @Override
    protected Map<String, String> topology() throws IOException {
        Map<String, String> topology = new LinkedHashMap<>();
        topology.put("version", serverVersion());
        topology.put("nodes", Integer.toString(cluster().nodes().size()));
        topology.put("replication_factor", Integer.toString(copies() + 1));
        if (topology.get("version").contains(MOCK)) {
            topology.put("stand_in", "vendor mock");
        }
        return topology;
    }

    @Override
    protected String content(String table) throws IOException {
        long documents = items();
        return documents == 0 ? "" : documents + " documents of bucket " + shared.bucket.name();
    }

    @Override
    protected long size(String table) throws IOException, NameTaken {
        return items() - (readMarker(table).isEmpty() ? 0 : 1);
    }

    private long items() throws IOException {
        long items = 0;
        for (Map.Entry<String, Map<String, String>> node : ofEachNode(KeyValueNode::statistics).entrySet()) {
            String count = node.getValue().get("curr_items");
            if (count == null) {
                throw new IOException(node.getKey() + " does not state its number of documents (curr_items)");
            }
            items += Long.parseLong(count);
        }
        return items;
    }

    @Override
    protected String readMarker(String table) throws NameTaken {
        GetResult document = markerDocument();
        return document == null ? "" : marker(document);
    }

    private GetResult markerDocument() {
        try {
            return documents().get(MARKER);
        } catch (DocumentNotFoundException e) {
            return null;
        }
    }

    private static String marker(GetResult document) throws NameTaken {
        try {
            Object marker = document.contentAsObject().get(FIELD);
            if (marker instanceof String) {
                return (String) marker;
            }
        } catch (DecodingFailureException e) {
            // Falls through: no JSON object is a marker.
        }
        throw new NameTaken("the document " + MARKER + " is not a marker of Benchsite");
    }

    @Override
    protected boolean writeMarker(String table, String marker, String replaces, List<String> fields)
        throws NameTaken {
        JsonObject content = JsonObject.create().put(FIELD, marker);
        try {
            if (replaces.isEmpty()) {
                documents().insert(MARKER, content);
                return true;
            }
            GetResult present = markerDocument();
            if (present == null || !marker(present).equals(replaces)) {
                return false;
            }
            documents().replace(MARKER, content, ReplaceOptions.replaceOptions().cas(present.cas()));
            return true;
        } catch (CasMismatchException | DocumentExistsException | DocumentNotFoundException e) {
            return false;
        }
    }

    @Override
    protected boolean createTable(String table, List<String> fields, String marker) {
        return false;
    }

    @Override
    protected boolean dropEmptyTable(String table) throws IOException {
        GetResult present = markerDocument();
        if (present == null || items() > 1) {
            return false;
        }
        try {
            documents().remove(MARKER, RemoveOptions.removeOptions().cas(present.cas()));
            return true;
        } catch (CasMismatchException | DocumentNotFoundException e) {
            return false;
        }
    }

    /** A path that no record has: the answer says whether the document is there, and carries none of it. */
    @Override
    protected long countKeys(String table, List<String> keys) throws Exception {
        return forKeys(keys, key -> async().lookupIn(key, List.of(LookupInSpec.exists("benchsite"))));
    }

    @Override
    protected long deleteKeys(String table, List<String> keys) throws Exception {
        return forKeys(keys, key -> async().remove(key));
    }

    private AsyncCollection async() {
        return documents().async();
    }

    /** Asks for each key, many at a time. Answers how many of the documents there were. */
    private static long forKeys(List<String> keys, Function<String, CompletableFuture<?>> request) throws Exception {
        Semaphore room = new Semaphore(REQUESTS_IN_FLIGHT);
        AtomicLong present = new AtomicLong();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        for (String key : keys) {
            room.acquire();
            if (failure.get() != null) {
                room.release();
                break;
            }
            request.apply(key).whenComplete((result, thrown) -> {
                Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : thrown;
                if (cause == null) {
                    present.incrementAndGet();
                } else if (!(cause instanceof DocumentNotFoundException)) {
                    failure.compareAndSet(null, cause);
                }
                room.release();
            });
        }
        room.acquire(REQUESTS_IN_FLIGHT);
        if (failure.get() != null) {
            throw new IOException(CouchbaseDB.text(failure.get()));
        }
        return present.get();
    }

    private ClusterTopologyWithBucket cluster() {
        return shared.cluster.core().clusterConfig().bucketTopology(shared.bucket.name());
    }

    /** Of each document, beside the active one. */
    private int copies() {
        return ((CouchbaseBucketTopology) cluster().bucket()).numberOfReplicas();
    }

    private interface NodeCall<T> {
        T of(KeyValueNode node) throws IOException;
    }

    /** What each node of the bucket answers, by its address. */
    private <T> Map<String, T> ofEachNode(NodeCall<T> call) throws IOException {
        boolean tls = Tls.isEnabled(settings, "couchbase");
        Map<String, T> answers = new LinkedHashMap<>();
        for (HostAndServicePorts address : cluster().nodes()) {
            if (!address.has(ServiceType.KV)) {
                continue;
            }
            int port = address.port(ServiceType.KV).getAsInt();
            Socket socket = tls ? SharedCluster.tlsSocket(settings) : new Socket();
            try (KeyValueNode node =
                new KeyValueNode(socket, address.host(), port, settings.whole("couchbase.timeout_ms"))) {
                if (settings.text("couchbase.tls.certificate").isEmpty()) {
                    node.authenticate(settings.text("couchbase.user"), settings.text("couchbase.password"));
                }
                node.select(shared.bucket.name());
                answers.put(address.host() + ":" + port, call.of(node));
            }
        }
        return answers;
    }
}
