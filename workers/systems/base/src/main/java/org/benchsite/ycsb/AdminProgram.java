package org.benchsite.ycsb;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/**
 * The administration of a cluster beside the load, as one JSON object per line: {"call": name, ...} on stdin is answered
 * by {"result": ...}, {"error": message} or {"name_taken": message} on stdout. The first line is the address: {"hosts",
 * "port", "user", "password", "database", "properties"}, the last with those of the clients. The program ends with its
 * stdin.
 *
 * <p>`workers/provision/administration/base.py` defines each call. Any exception of a call is answered as an error.
 */
public abstract class AdminProgram {
    /** An object that is not Benchsite's has the name of Benchsite's marker. */
    protected static final class NameTaken extends Exception {
        private static final long serialVersionUID = 1L;

        public NameTaken(String message) {
            super(message);
        }
    }

    /** Where the cluster is. */
    protected static final class Address {
        public final String hosts;
        public final int port;
        public final String user;
        public final String password;
        public final String database;
        /** The properties that clients of the cluster get, defaults left out. */
        public final Map<String, String> properties;

        private Address(JsonObject line) {
            hosts = text(line, "hosts");
            port = line.get("port").getAsInt();
            user = text(line, "user");
            password = text(line, "password");
            database = text(line, "database");
            properties = map(line, "properties");
        }
    }

    /** What the servers say of themselves. docs/developers/adding-a-system.md lists the names. */
    protected static final class Counters {
        /** Since the servers' start. */
        public final Map<String, Double> counts = new LinkedHashMap<>();
        /** At this moment. */
        public final Map<String, Double> values = new LinkedHashMap<>();

        public Counters() {
        }

        /** Adds the count of one node. */
        public void count(String name, double number) {
            counts.merge(name, number, Double::sum);
        }

        /** Adds the value of one node. */
        public void value(String name, double number) {
            values.merge(name, number, Double::sum);
        }
    }

    /** `Survey` of `workers/provision/administration/base.py`. */
    protected static final class Survey {
        /** Of a table whose records are not counted. */
        public static final long UNCOUNTED = -1;

        public final Map<String, Long> data = new LinkedHashMap<>();
        public final List<String> obstacles = new ArrayList<>();
        /** How many are `used`, and the `limit`; null where the server states none. */
        public Map<String, Long> connections;

        public Survey() {
        }

        /** Of several limits the one that leaves the fewest. */
        public void limitConnections(long used, long limit) {
            if (connections == null || limit - used < connections.get("limit") - connections.get("used")) {
                connections = Map.of("used", used, "limit", limit);
            }
        }
    }

    /** Opens the connection where there is none; each call begins with it. */
    protected abstract void connect() throws Exception;

    protected abstract void ping() throws Exception;

    protected abstract void prepare(Map<String, String> settings) throws Exception;

    protected abstract String serverVersion() throws Exception;

    protected abstract String dataFolder() throws Exception;

    protected abstract Map<String, String> readSettings(List<String> names) throws Exception;

    protected abstract int replicas() throws Exception;

    protected abstract Map<String, String> topology() throws Exception;

    /** The address of each node of the cluster as its clients reach it: host:port, an IPv6 address in brackets. */
    protected List<String> listNodes() throws Exception {
        return List.of();
    }

    /** All nodes together, within five seconds: it is called once a second while a run measures. */
    protected Counters counters() throws Exception {
        return new Counters();
    }

    /** What the database holds beside the table, and what would fail a benchmark of it. */
    protected Survey survey(String table) throws Exception {
        return new Survey();
    }

    protected abstract String content(String table) throws Exception;

    protected abstract long size(String table) throws Exception;

    protected abstract String readMarker(String table) throws Exception;

    /** `replaces` is empty where there must be no marker. */
    protected abstract boolean writeMarker(String table, String marker, String replaces, List<String> fields)
        throws Exception;

    protected abstract boolean createTable(String table, List<String> fields, String marker) throws Exception;

    protected abstract boolean dropEmptyTable(String table) throws Exception;

    protected abstract long countKeys(String table, List<String> keys) throws Exception;

    protected abstract long deleteKeys(String table, List<String> keys) throws Exception;

    /** One line for people. */
    protected String describe(Exception thrown) {
        return Failure.describe(thrown);
    }

    /** Answers the calls on stdin until it is closed. */
    protected static void serve(Function<Address, AdminProgram> program) throws IOException {
        Gson json = new Gson();
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        AdminProgram admin = program.apply(new Address(json.fromJson(calls.readLine(), JsonObject.class)));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            JsonObject answer = new JsonObject();
            try {
                answer.add("result", json.toJsonTree(admin.answer(json.fromJson(line, JsonObject.class))));
            } catch (NameTaken e) {
                answer.addProperty("name_taken", e.getMessage());
            } catch (Exception e) {
                answer.addProperty("error", admin.describe(e));
            }
            answers.println(answer);
        }
        System.exit(0);
    }

    private Object answer(JsonObject call) throws Exception {
        connect();
        String table = text(call, "table");
        switch (text(call, "call")) {
            case "ping":
                ping();
                return true;
            case "prepare":
                prepare(map(call, "settings"));
                return true;
            case "server_version":
                return serverVersion();
            case "data_folder":
                return dataFolder();
            case "read_settings":
                return readSettings(texts(call, "names"));
            case "replicas":
                return replicas();
            case "topology":
                return topology();
            case "list_nodes":
                return listNodes();
            case "counters":
                return counters();
            case "survey":
                return survey(table);
            case "content":
                return content(table);
            case "size":
                return size(table);
            case "read_marker":
                return readMarker(table);
            case "write_marker":
                return writeMarker(table, text(call, "marker"), text(call, "replaces"), texts(call, "fields"));
            case "create_table":
                return createTable(table, texts(call, "fields"), text(call, "marker"));
            case "drop_empty_table":
                return dropEmptyTable(table);
            case "count_keys":
                return countKeys(table, texts(call, "keys"));
            case "delete_keys":
                return deleteKeys(table, texts(call, "keys"));
            default:
                throw new IllegalArgumentException("there is no call " + call.get("call"));
        }
    }

    private static String text(JsonObject line, String name) {
        return line.has(name) ? line.get(name).getAsString() : "";
    }

    private static Map<String, String> map(JsonObject line, String name) {
        return new Gson().<Map<String, String>>fromJson(line.get(name), Map.class);
    }

    private static List<String> texts(JsonObject line, String name) {
        List<String> texts = new ArrayList<>();
        if (line.has(name)) {
            for (JsonElement element : line.getAsJsonArray(name)) {
                texts.add(element.getAsString());
            }
        }
        return texts;
    }
}
