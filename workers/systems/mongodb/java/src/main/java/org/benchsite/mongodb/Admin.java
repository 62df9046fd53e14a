package org.benchsite.mongodb;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;

import com.mongodb.MongoCommandException;
import com.mongodb.MongoWriteException;
import com.mongodb.ReadConcern;
import com.mongodb.ReadPreference;
import com.mongodb.ServerAddress;
import com.mongodb.WriteConcern;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import org.benchsite.ycsb.AdminProgram;
import org.benchsite.ycsb.Settings;
import org.bson.Document;
import site.ycsb.DBException;

/**
 * The administration of a MongoDB deployment. Another server that speaks its protocol is a stand-in.
 *
 * <p>The markers of data sets are documents of the collection benchsite_markers of the database, under the name of their
 * collection. Markers and deletions are written with the write concern majority, or the server's own where it knows none.
 * A sharded cluster gets the collection with the shard key that `mongodb.shard_key` says.
 */
public class Admin extends AdminProgram {
    private static final String MARKERS = "benchsite_markers";
    private static final String MARKER = "marker";
    private static final int KEYS_PER_COMMAND = 1000;
    private static final int MAX_SURVEYED = 8;
    private static final int DUPLICATE_KEY = 11_000;
    private static final String PAGES_REQUESTED = "pages requested from the cache";
    private static final String PAGES_READ = "pages read into cache";

    private final Settings settings;
    protected MongoClient client;
    private MongoDatabase database;
    private MongoDatabase admin;
    private final List<MongoClient> shards = new ArrayList<>();

    protected Admin(Address address) {
        Properties properties = new Properties();
        properties.putAll(address.properties);
        try {
            settings = new Settings(MongoDB.DECLARED, properties);
        } catch (DBException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    public static void main(String[] args) throws IOException {
        serve(Admin::new);
    }

    @Override
    protected void connect() throws IOException, GeneralSecurityException {
        if (client == null) {
            client = MongoClients.create(SharedClient.options(settings, 2).readPreference(ReadPreference.primary())
                .readConcern(ReadConcern.DEFAULT).writeConcern(WriteConcern.MAJORITY).build());
            database = client.getDatabase(settings.text("mongodb.database"));
            admin = client.getDatabase("admin");
        }
    }

    @Override
    protected void ping() {
        admin.runCommand(new Document("ping", 1));
    }

    @Override
    protected void prepare(Map<String, String> schema) {
        // Nothing: databases are made with their first collection.
    }

    @Override
    protected String serverVersion() {
        Document build = admin.runCommand(new Document("buildInfo", 1));
        String ferret = build.getString("ferretdbVersion");
        return ferret == null ? build.getString("version") : ferret.replaceFirst("^v", "");
    }

    @Override
    protected String dataFolder() {
        return option(admin, "storage.dbPath");
    }

    /** Of the configuration that the node was started with; empty where it names none. */
    private static String option(MongoDatabase set, String path) {
        Object value = answer(set, "getCmdLineOpts", "parsed").orElse(null);
        for (String part : path.split("\\.")) {
            value = value instanceof Document ? ((Document) value).get(part) : null;
        }
        return value == null ? "" : value.toString();
    }

    @Override
    protected Map<String, String> readSettings(List<String> names) throws IOException, GeneralSecurityException {
        Map<String, String> found = new LinkedHashMap<>();
        List<MongoDatabase> sets = replicaSets();
        for (String name : names) {
            Set<String> values = new LinkedHashSet<>();
            for (MongoDatabase set : sets) {
                values.add(setting(set, name));
            }
            // Shards that differ, or of which some do not know it, are in no mode.
            if (!values.equals(Set.of(""))) {
                found.put(name, String.join(", ", values));
            }
        }
        return found;
    }

    /**
     * The databases "admin" of the replica sets that have the data: behind a mongos those of the shards, which a mongos
     * does not ask for their settings and members; else that of the deployment.
     */
    private List<MongoDatabase> replicaSets() throws IOException, GeneralSecurityException {
        if (shards.isEmpty() && isSharded()) {
            for (Document shard : listShards()) {
                shards.add(MongoClients.create(SharedClient.options(settings, 1)
                    .applyToClusterSettings(cluster -> cluster.hosts(hosts(shard.getString("host"))))
                    .readPreference(ReadPreference.primary()).build()));
            }
        }
        List<MongoDatabase> sets = new ArrayList<>();
        shards.forEach(shard -> sets.add(shard.getDatabase("admin")));
        return sets.isEmpty() ? List.of(admin) : sets;
    }

    /** Of "rs0/host:27018,host:27018". */
    private static List<ServerAddress> hosts(String shard) {
        List<ServerAddress> hosts = new ArrayList<>();
        for (String host : shard.substring(shard.indexOf('/') + 1).split(",")) {
            hosts.add(new ServerAddress(host));
        }
        return hosts;
    }

    protected String setting(MongoDatabase set, String name) {
        switch (name) {
            case "storage.journal.enabled":
                // From 6.1 on there is no such option, and always a journal.
                return option(set, name).isEmpty() ? "true" : option(set, name);
            case "storage.journal.commitIntervalMs":
                return parameter(set, "journalCommitInterval");
            case "writeConcernMajorityJournalDefault":
                return answer(set, "replSetGetConfig", "config").map(config ->
                    String.valueOf(config.getBoolean(name, true))).orElse("");
            default:
                return option(set, name);
        }
    }

    private static String parameter(MongoDatabase set, String name) {
        try {
            Object value = set.runCommand(new Document("getParameter", 1).append(name, 1)).get(name);
            return value == null ? "" : value.toString();
        } catch (MongoCommandException e) {
            return "";
        }
    }

    /** The command's answer, or a part of it; nothing where the server does not know the command or refuses it. */
    private static Optional<Document> answer(MongoDatabase set, String command, String part) {
        try {
            Document answer = set.runCommand(new Document(command, 1));
            return Optional.ofNullable(part.isEmpty() ? answer : answer.get(part, Document.class));
        } catch (MongoCommandException e) {
            return Optional.empty();
        }
    }

    /** Of WiredTiger's cache on the primary of each shard; a server with another storage engine has none. */
    @Override
    protected Counters counters() throws IOException, GeneralSecurityException {
        Counters counters = new Counters();
        for (MongoDatabase set : replicaSets()) {
            Document cache = answer(set, "serverStatus", "wiredTiger")
                .map(engine -> engine.get("cache", Document.class)).orElse(new Document());
            if (cache.get(PAGES_REQUESTED) instanceof Number && cache.get(PAGES_READ) instanceof Number) {
                double misses = ((Number) cache.get(PAGES_READ)).doubleValue();
                counters.count("cache_hits", ((Number) cache.get(PAGES_REQUESTED)).doubleValue() - misses);
                counters.count("cache_misses", misses);
            }
        }
        return counters;
    }

    /** Secondaries that answer, of the shard with the fewest. */
    @Override
    protected int replicas() throws IOException, GeneralSecurityException {
        int fewest = Integer.MAX_VALUE;
        for (MongoDatabase set : replicaSets()) {
            long secondaries = members(set).stream().filter(state -> state.equals("SECONDARY")).count();
            fewest = Math.min(fewest, (int) secondaries);
        }
        return fewest;
    }

    /** The states of the members that keep data: an arbiter only votes. */
    private static List<String> members(MongoDatabase set) {
        List<String> states = new ArrayList<>();
        answer(set, "replSetGetStatus", "").map(status -> status.getList("members", Document.class)).orElse(List.of())
            .forEach(member -> states.add(member.getString("stateStr")));
        states.removeIf(state -> state.equals("ARBITER"));
        return states;
    }

    @Override
    protected Map<String, String> topology() throws IOException, GeneralSecurityException {
        Map<String, String> topology = new LinkedHashMap<>();
        topology.put("version", serverVersion());
        Document build = admin.runCommand(new Document("buildInfo", 1));
        if (isFerret() || !build.containsKey("gitVersion")) {
            topology.put("stand_in", "wire stand-in");
        }
        List<Integer> copies = new ArrayList<>();
        for (MongoDatabase set : replicaSets()) {
            copies.add(members(set).size());
        }
        if (Collections.max(copies) > 0) {
            topology.put("nodes", String.valueOf(copies.stream().mapToInt(Integer::intValue).sum()));
            topology.put("replication_factor", String.valueOf(Collections.min(copies)));
        }
        if (!shards.isEmpty()) {
            topology.put("shards", String.valueOf(shards.size()));
        }
        return topology;
    }

    protected boolean isFerret() {
        return admin.runCommand(new Document("buildInfo", 1)).containsKey("ferretdbVersion");
    }

    private List<Document> listShards() {
        return admin.runCommand(new Document("listShards", 1)).getList("shards", Document.class);
    }

    private boolean isSharded() {
        return answer(admin, "hello", "").filter(hello -> "isdbgrid".equals(hello.getString("msg"))).isPresent();
    }

    /** Users without the role clusterMonitor may not ask for connections, and some may not list collections. */
    @Override
    protected Survey survey(String table) {
        Survey survey = new Survey();
        Document connections = answer(admin, "serverStatus", "connections").orElse(new Document());
        if (connections.get("current") instanceof Number && connections.get("available") instanceof Number) {
            long used = ((Number) connections.get("current")).longValue();
            survey.limitConnections(used, used + ((Number) connections.get("available")).longValue());
        }
        for (String name : listCollections()) {
            boolean isOther = !List.of(table, MARKERS).contains(name) && !name.startsWith("system.");
            if (isOther && survey.data.size() < MAX_SURVEYED) {
                survey.data.put(name, estimate(name));
            }
        }
        return survey;
    }

    private List<String> listCollections() {
        try {
            return database.listCollectionNames().into(new ArrayList<>());
        } catch (MongoCommandException e) {
            return List.of();
        }
    }

    /** By the collection's metadata, which a view does not have. */
    private long estimate(String collection) {
        try {
            return collection(collection).estimatedDocumentCount();
        } catch (MongoCommandException e) {
            return Survey.UNCOUNTED;
        }
    }

    private MongoCollection<Document> collection(String table) {
        return database.getCollection(table);
    }

    @Override
    protected String content(String table) {
        return collection(table).find().limit(1).first() == null ? "" : "the documents of collection " + table;
    }

    @Override
    protected long size(String table) {
        return collection(table).countDocuments();
    }

    @Override
    protected String readMarker(String table) throws NameTaken {
        Document document = collection(MARKERS).find(new Document(MongoDB.KEY, table)).first();
        if (document == null) {
            return "";
        }
        if (!(document.get(MARKER) instanceof String)) {
            throw new NameTaken("the collection " + MARKERS + " is not Benchsite's");
        }
        return document.getString(MARKER);
    }

    @Override
    protected boolean writeMarker(String table, String marker, String replaces, List<String> fields) {
        if (replaces.isEmpty()) {
            try {
                collection(MARKERS).insertOne(new Document(MongoDB.KEY, table).append(MARKER, marker));
                return true;
            } catch (MongoWriteException e) {
                if (e.getCode() == DUPLICATE_KEY) {
                    return false;
                }
                throw e;
            }
        }
        return collection(MARKERS).updateOne(new Document(MongoDB.KEY, table).append(MARKER, replaces),
            new Document("$set", new Document(MARKER, marker))).getMatchedCount() > 0;
    }

    /** Documents need no schema, but a collection that is there already may be sharded or validated otherwise. */
    @Override
    protected boolean createTable(String table, List<String> fields, String marker) {
        if (exists(table) || !writeMarker(table, marker, "", fields)) {
            return false;
        }
        if (isSharded()) {
            String name = database.getName() + "." + table;
            admin.runCommand(new Document("enableSharding", database.getName()));
            admin.runCommand(shardCollection(name, settings.text("mongodb.shard_key"), listShards().size()));
        } else {
            database.createCollection(table);
        }
        return true;
    }

    /** A hashed key has two chunks on each shard from the beginning; ranges begin with one, which the balancer splits. */
    static Document shardCollection(String name, String key, int shards) {
        Document command = new Document("shardCollection", name);
        if (key.equals("range")) {
            return command.append("key", new Document(MongoDB.KEY, 1));
        }
        return command.append("key", new Document(MongoDB.KEY, "hashed")).append("numInitialChunks", 2 * shards);
    }

    private boolean exists(String table) {
        return database.listCollectionNames().into(new ArrayList<>()).contains(table);
    }

    @Override
    protected boolean dropEmptyTable(String table) {
        if (!content(table).isEmpty()) {
            return false;
        }
        collection(table).drop();
        collection(MARKERS).deleteOne(new Document(MongoDB.KEY, table));
        return true;
    }

    @Override
    protected long countKeys(String table, List<String> keys) {
        long count = 0;
        for (Document filter : filters(keys)) {
            count += collection(table).countDocuments(filter);
        }
        return count;
    }

    @Override
    protected long deleteKeys(String table, List<String> keys) {
        long count = 0;
        for (Document filter : filters(keys)) {
            count += collection(table).deleteMany(filter).getDeletedCount();
        }
        return count;
    }

    private static List<Document> filters(List<String> keys) {
        List<Document> filters = new ArrayList<>();
        for (int first = 0; first < keys.size(); first += KEYS_PER_COMMAND) {
            List<String> part = keys.subList(first, Math.min(first + KEYS_PER_COMMAND, keys.size()));
            filters.add(new Document(MongoDB.KEY, new Document("$in", part)));
        }
        return filters;
    }
}
