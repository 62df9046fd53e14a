package org.benchsite.mongodb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Vector;
import java.util.concurrent.CopyOnWriteArrayList;

import com.mongodb.MongoNotPrimaryException;
import com.mongodb.MongoSocketReadException;
import com.mongodb.MongoTimeoutException;
import com.mongodb.ServerAddress;
import de.bwaldvogel.mongo.MongoBackend;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.wire.message.MongoMessage;
import org.bson.BsonDocument;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/** What the binding asks of a server, as that server gets it, and what it makes of errors. */
class MongoConcernsTest {
    /** The commands that the server got, as JSON. */
    private final List<String> commands = new CopyOnWriteArrayList<>();
    private MongoServer server;
    private InetSocketAddress address;

    @BeforeEach
    void start() {
        MongoBackend memory = new MemoryBackend();
        MongoBackend recording = (MongoBackend) Proxy.newProxyInstance(
            MongoBackend.class.getClassLoader(), new Class<?>[] {MongoBackend.class}, (proxy, method, arguments) -> {
                if (method.getName().equals("handleMessage")) {
                    commands.add(((MongoMessage) arguments[0]).getDocument().toString());
                }
                try {
                    return method.invoke(memory, arguments);
                } catch (InvocationTargetException e) {
                    throw e.getCause();
                }
            });
        server = new MongoServer(recording);
        address = server.bind();
    }

    @AfterEach
    void stop() {
        server.shutdownNow();
    }

    @Test
    void collectionsAreShardedByHashesOrRanges() {
        assertEquals("{\"shardCollection\": \"ycsb.t\", \"key\": {\"_id\": \"hashed\"}, \"numInitialChunks\": 4}",
            Admin.shardCollection("ycsb.t", "hashed", 2).toJson());
        assertEquals("{\"shardCollection\": \"ycsb.t\", \"key\": {\"_id\": 1}}",
            Admin.shardCollection("ycsb.t", "range", 2).toJson());
    }

    private MongoDB connected(String... properties) throws DBException {
        Properties all = new Properties();
        all.setProperty("mongodb.hosts", "127.0.0.1");
        all.setProperty("mongodb.port", String.valueOf(address.getPort()));
        for (int i = 0; i < properties.length; i += 2) {
            all.setProperty(properties[i], properties[i + 1]);
        }
        MongoDB db = new MongoDB();
        db.setProperties(all);
        db.init();
        return db;
    }

    private static Map<String, ByteIterator> values(String value) {
        return new HashMap<>(Map.of("field0", new ByteArrayByteIterator(value.getBytes())));
    }

    private String command(String name) {
        return commands.stream().filter(text -> text.contains("\"" + name + "\"")).findFirst().orElseThrow();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "1 | false | 0 | \"writeConcern\" : {\"w\" : 1, \"j\" : false}",
        "1 | true | 0 | \"writeConcern\" : {\"w\" : 1, \"j\" : true}",
        "2 | default | 500 | \"writeConcern\" : {\"w\" : 2, \"wtimeout\" : 500}",
        "majority | true | 0 | \"writeConcern\" : {\"w\" : \"majority\", \"j\" : true}",
    })
    void theWriteConcernIsSent(String w, String journal, String wtimeout, String expected) throws DBException {
        MongoDB db = connected("mongodb.w", w, "mongodb.journal", journal, "mongodb.wtimeout_ms", wtimeout);
        assertEquals(Status.OK, db.insert("usertable", "user1", values("a")));
        assertEquals(Status.OK, db.update("usertable", "user1", values("b")));
        assertEquals(Status.OK, db.delete("usertable", "user1"));
        for (String name : new String[] {"insert", "update", "delete"}) {
            assertTrue(command(name).contains(expected), command(name));
        }
        db.cleanup();
    }

    @Test
    void byDefaultTheServerDecides() throws DBException {
        MongoDB db = connected();
        db.insert("usertable", "user1", values("a"));
        db.read("usertable", "user1", null, new HashMap<>());
        assertTrue(commands.stream().noneMatch(text -> text.contains("oncern")), commands.toString());
        db.cleanup();
    }

    @Test
    void theReadConcernIsSent() throws DBException {
        MongoDB db = connected("mongodb.read_concern", "majority");
        db.read("usertable", "user1", null, new HashMap<>());
        assertTrue(command("find").contains("\"readConcern\" : {\"level\" : \"majority\"}"), command("find"));
        db.cleanup();
    }

    @Test
    void recordsAreReadScannedAndMissed() throws DBException {
        MongoDB db = connected();
        for (String key : new String[] {"user1", "user2", "user3"}) {
            assertEquals(Status.OK, db.insert("usertable", key, values(key)));
        }
        assertEquals(Status.BAD_REQUEST, db.insert("usertable", "user1", values("again")));
        Map<String, ByteIterator> record = new HashMap<>();
        assertEquals(Status.OK, db.read("usertable", "user2", null, record));
        assertEquals("user2", record.get("field0").toString());
        Vector<HashMap<String, ByteIterator>> records = new Vector<>();
        assertEquals(Status.OK, db.scan("usertable", "user2", 5, null, records));
        assertEquals(2, records.size());
        assertEquals(Status.NOT_FOUND, db.read("usertable", "user9", null, record));
        assertEquals(Status.NOT_FOUND, db.update("usertable", "user9", values("x")));
        assertEquals(Status.NOT_FOUND, db.delete("usertable", "user9"));
        db.cleanup();
    }

    @Test
    void writesWithoutAnswerAreRefusedWhereTheServerAnswers() {
        DBException refused = assertThrows(DBException.class, () -> connected("mongodb.w", "0", "mongodb.timeout_ms", "2000"));
        assertTrue(refused.getMessage().contains("w=0"), refused.getMessage());
    }

    @Test
    void aPoolIsNeverSmallerThanTheThreads() {
        DBException refused = assertThrows(DBException.class,
            () -> connected("threadcount", "8", "mongodb.max_pool_size", "4"));
        assertTrue(refused.getMessage().contains("the client has 8 threads"), refused.getMessage());
    }

    /** status, worth another attempt, connection broken */
    @ParameterizedTest
    @CsvSource({
        "11000, BAD_REQUEST false false",
        "13, FORBIDDEN false false",
        "59, BAD_REQUEST false false",
        "64, SERVICE_UNAVAILABLE true false",
        "100, SERVICE_UNAVAILABLE true false",
        "8000, ERROR true false",
    })
    void theCodeDecides(int code, String expected) {
        assertEquals(expected, MongoDB.classify(code, false, "text").toString());
    }

    @Test
    void aLostServerBreaksTheConnection() {
        MongoDB db = new MongoDB();
        ServerAddress lost = new ServerAddress();
        assertEquals("ERROR true true", db.classify(new MongoTimeoutException("none")).toString());
        assertEquals("ERROR true true", db.classify(new MongoSocketReadException("end", lost)).toString());
        assertEquals("SERVICE_UNAVAILABLE true false",
            db.classify(new MongoNotPrimaryException(new BsonDocument(), lost)).toString());
    }
}
