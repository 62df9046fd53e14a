package org.benchsite.mongodb;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;

import com.mongodb.MongoCommandException;
import com.mongodb.MongoException;
import com.mongodb.MongoNodeIsRecoveringException;
import com.mongodb.MongoNotPrimaryException;
import com.mongodb.MongoSecurityException;
import com.mongodb.MongoSocketException;
import com.mongodb.MongoTimeoutException;
import com.mongodb.MongoWriteConcernException;
import com.mongodb.WriteConcern;
import com.mongodb.client.FindIterable;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import com.mongodb.client.result.DeleteResult;
import com.mongodb.client.result.UpdateResult;
import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.Property;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import org.bson.BsonBinary;
import org.bson.BsonDocument;
import org.bson.BsonInt32;
import org.bson.BsonString;
import org.bson.BsonValue;
import org.bson.RawBsonDocument;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * MongoDB and what speaks its protocol, one document per record with the record's key as {@code _id} and the fields as
 * binary values: the layout of YCSB's own binding.
 *
 * <p>All threads of the process share one client of the driver, whose pool has a connection for each of them.
 */
public final class MongoDB extends BenchsiteDB {
    static final List<Property> DECLARED = declare();
    static final String KEY = "_id";
    private static final int DUPLICATE_KEY = 11_000;

    private final Map<String, MongoCollection<RawBsonDocument>> collections = new HashMap<>();
    private SharedClient shared;
    private MongoDatabase database;

    private static List<Property> declare() {
        List<Property> declared = new ArrayList<>(List.of(
            Property.text("mongodb.hosts", "127.0.0.1"),
            Property.whole("mongodb.port", 27_017, 1, 65_535),
            Property.text("mongodb.database", "ycsb"),
            Property.text("mongodb.user", ""),
            Property.text("mongodb.password", ""),
            Property.text("mongodb.auth_source", "admin"),
            Property.text("mongodb.replica_set", ""),
        Property.choice("mongodb.shard_key", "hashed", "hashed", "range"),
            Property.text("mongodb.w", "default"),
            Property.choice("mongodb.journal", "default", "default", "true", "false"),
            Property.whole("mongodb.wtimeout_ms", 0, 0, 3_600_000),
            Property.choice("mongodb.read_concern", "default", "default", "local", "available", "majority",
                "linearizable", "snapshot"),
            Property.choice("mongodb.read_preference", "primary", "primary", "primaryPreferred", "secondary",
                "secondaryPreferred", "nearest"),
            Property.whole("mongodb.max_pool_size", 0, 0, 100_000),
            Property.whole("mongodb.timeout_ms", 10_000, 1, 3_600_000),
            Property.flag("mongodb.driver_retries", false)));
        declared.addAll(Tls.properties("mongodb"));
        return List.copyOf(declared);
    }

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected void connect(Settings given) throws DBException, IOException, GeneralSecurityException {
        if (shared == null) {
            if (given.text("mongodb.w").equals("0")) {
                requireUnansweredWrites(given);
            }
            shared = SharedClient.acquire(given, connections(given));
        }
        database = shared.client.getDatabase(given.text("mongodb.database"));
        database.runCommand(new BsonDocument("ping", new BsonInt32(1)));
    }

    /** Threads must never wait for each other's connections. */
    private int connections(Settings given) throws DBException {
        int threads = Integer.parseInt(getProperties().getProperty("threadcount", "1"));
        int most = given.whole("mongodb.max_pool_size");
        if (most > 0 && most < threads) {
            throw new DBException("mongodb.max_pool_size is " + most + ", and the client has " + threads
                + " threads: raise it, or leave it out");
        }
        return Math.max(most, threads);
    }

    /**
     * With w=0 the driver asks for no answer. A server that answers all the same would have its answer taken for that of
     * the next operation. The probe deletes a document that is not there.
     */
    private static void requireUnansweredWrites(Settings given)
        throws DBException, IOException, GeneralSecurityException {
        try (MongoClient client = MongoClients.create(SharedClient.options(given, 1).build())) {
            MongoDatabase database = client.getDatabase(given.text("mongodb.database"));
            BsonDocument ping = new BsonDocument("ping", new BsonInt32(1));
            database.runCommand(ping);
            try {
                database.getCollection("benchsite_probe").withWriteConcern(WriteConcern.UNACKNOWLEDGED)
                    .deleteOne(new BsonDocument(KEY, new BsonString("benchsite-probe")));
                database.runCommand(ping);
            } catch (MongoException e) {
                throw new DBException("this server answers writes that ask for no answer (w=0), which breaks the "
                    + "connection: choose a mode with another w", e);
            }
        }
    }

    /** Keeps the client: the driver connects it again, sooner than a new one would. */
    @Override
    protected void disconnect() {
        collections.clear();
    }

    @Override
    protected void release() {
        if (shared != null) {
            shared.release();
            shared = null;
        }
    }

    @Override
    protected Failure classify(Exception thrown) {
        String message = Failure.describe(thrown);
        if (thrown instanceof IllegalArgumentException) {
            return Failure.lasting(Status.BAD_REQUEST, message);
        }
        if (thrown instanceof MongoSecurityException) {
            return Failure.lasting(Status.FORBIDDEN, message);
        }
        if (thrown instanceof MongoNotPrimaryException || thrown instanceof MongoNodeIsRecoveringException) {
            return Failure.passing(Status.SERVICE_UNAVAILABLE, message);
        }
        if (thrown instanceof MongoSocketException || thrown instanceof MongoTimeoutException
            || !(thrown instanceof MongoException)) {
            return Failure.broken(message);
        }
        return classify(code((MongoException) thrown), thrown instanceof MongoWriteConcernException, message);
    }

    private static int code(MongoException error) {
        return error instanceof MongoCommandException ? ((MongoCommandException) error).getErrorCode() : error.getCode();
    }

    @Override
    protected String errorCode(Exception thrown) {
        return thrown instanceof MongoException ? String.valueOf(code((MongoException) thrown)) : super.errorCode(thrown);
    }

    /** By the server's error code (MongoDB Manual, Error Codes). */
    static Failure classify(int code, boolean isWriteConcern, String message) {
        switch (code) {
            case DUPLICATE_KEY:
                return Failure.alreadyThere(message);
            case 13: // Unauthorized
            case 18: // AuthenticationFailed
                return Failure.lasting(Status.FORBIDDEN, message);
            case 2: // BadValue
            case 9: // FailedToParse
            case 59: // CommandNotFound
            case 73: // InvalidNamespace
            case 121: // DocumentValidationFailure
            case 10_334: // BSONObjectTooLarge
                return Failure.lasting(Status.BAD_REQUEST, message);
            case 64: // WriteConcernFailed
            case 79: // UnknownReplWriteConcern
            case 91: // ShutdownInProgress
            case 100: // UnsatisfiableWriteConcern
            case 189: // PrimarySteppedDown
            case 10_107: // NotWritablePrimary
                return Failure.passing(Status.SERVICE_UNAVAILABLE, message);
            default:
                return Failure.passing(isWriteConcern ? Status.SERVICE_UNAVAILABLE : Status.ERROR, message);
        }
    }

    @Override
    protected Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
        FindIterable<RawBsonDocument> found = collection(table).find(byKey(key));
        RawBsonDocument document = project(found, fields).first();
        if (document == null) {
            return Status.NOT_FOUND;
        }
        take(document, result);
        return Status.OK;
    }

    @Override
    protected Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) {
        BsonDocument from = new BsonDocument(KEY, new BsonDocument("$gte", new BsonString(startKey)));
        FindIterable<RawBsonDocument> found = collection(table).find(from)
            .sort(new BsonDocument(KEY, new BsonInt32(1))).limit(count).batchSize(count);
        project(found, fields).forEach(document -> {
            HashMap<String, ByteIterator> record = new HashMap<>();
            take(document, record);
            result.add(record);
        });
        return Status.OK;
    }

    @Override
    protected Status tryUpdate(String table, String key, Map<String, byte[]> values) {
        BsonDocument change = new BsonDocument("$set", fields(new BsonDocument(), values));
        UpdateResult updated = collection(table).updateOne(byKey(key), change);
        return !updated.wasAcknowledged() || updated.getMatchedCount() > 0 ? Status.OK : Status.NOT_FOUND;
    }

    @Override
    protected Status tryInsert(String table, String key, Map<String, byte[]> values) {
        collection(table).withDocumentClass(BsonDocument.class).insertOne(fields(byKey(key), values));
        return Status.OK;
    }

    @Override
    protected Status tryDelete(String table, String key) {
        DeleteResult deleted = collection(table).deleteOne(byKey(key));
        return !deleted.wasAcknowledged() || deleted.getDeletedCount() > 0 ? Status.OK : Status.NOT_FOUND;
    }

    private MongoCollection<RawBsonDocument> collection(String table) {
        return collections.computeIfAbsent(table, name -> database.getCollection(name, RawBsonDocument.class));
    }

    static BsonDocument byKey(String key) {
        return new BsonDocument(KEY, new BsonString(key));
    }

    private static BsonDocument fields(BsonDocument document, Map<String, byte[]> values) {
        values.forEach((name, value) -> document.append(name, new BsonBinary(value)));
        return document;
    }

    private static FindIterable<RawBsonDocument> project(FindIterable<RawBsonDocument> found, Set<String> fields) {
        if (fields == null) {
            return found;
        }
        BsonDocument projection = new BsonDocument(KEY, new BsonInt32(0));
        fields.forEach(field -> projection.append(field, new BsonInt32(1)));
        return found.projection(projection);
    }

    private static void take(RawBsonDocument document, Map<String, ByteIterator> result) {
        for (Map.Entry<String, BsonValue> field : document.entrySet()) {
            if (field.getValue().isBinary()) {
                result.put(field.getKey(), new ByteArrayByteIterator(field.getValue().asBinary().getData()));
            }
        }
    }
}
