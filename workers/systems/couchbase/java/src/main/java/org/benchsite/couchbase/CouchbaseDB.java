package org.benchsite.couchbase;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.couchbase.client.core.error.AmbiguousTimeoutException;
import com.couchbase.client.core.error.AuthenticationFailureException;
import com.couchbase.client.core.error.BucketNotFoundException;
import com.couchbase.client.core.error.CouchbaseException;
import com.couchbase.client.core.error.DocumentExistsException;
import com.couchbase.client.core.error.DocumentLockedException;
import com.couchbase.client.core.error.DocumentNotFoundException;
import com.couchbase.client.core.error.DurabilityAmbiguousException;
import com.couchbase.client.core.error.DurabilityImpossibleException;
import com.couchbase.client.core.error.DurabilityLevelNotAvailableException;
import com.couchbase.client.core.error.DurableWriteInProgressException;
import com.couchbase.client.core.error.DurableWriteReCommitInProgressException;
import com.couchbase.client.core.error.FeatureNotAvailableException;
import com.couchbase.client.core.error.InvalidArgumentException;
import com.couchbase.client.core.error.ReplicaNotAvailableException;
import com.couchbase.client.core.error.ReplicaNotConfiguredException;
import com.couchbase.client.core.error.RequestCanceledException;
import com.couchbase.client.core.error.ServerOutOfMemoryException;
import com.couchbase.client.core.error.TemporaryFailureException;
import com.couchbase.client.core.error.ValueTooLargeException;
import com.couchbase.client.core.msg.kv.DurabilityLevel;
import com.couchbase.client.java.Collection;
import com.couchbase.client.java.json.JsonObject;
import com.couchbase.client.java.kv.CommonDurabilityOptions;
import com.couchbase.client.java.kv.InsertOptions;
import com.couchbase.client.java.kv.LookupInResult;
import com.couchbase.client.java.kv.LookupInSpec;
import com.couchbase.client.java.kv.MutateInOptions;
import com.couchbase.client.java.kv.MutateInSpec;
import com.couchbase.client.java.kv.PersistTo;
import com.couchbase.client.java.kv.RemoveOptions;
import com.couchbase.client.java.kv.ReplaceOptions;
import com.couchbase.client.java.kv.ReplicateTo;
import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.Property;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.workloads.CoreWorkload;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

/**
 * Couchbase by its key-value protocol: one JSON document per record, under the record's key, in the bucket's default
 * collection. The query service is not used, so there are no scans.
 *
 * <p>All threads of the process share one connection of the SDK. An update changes the fields that it names and leaves
 * the others; an update of all fields replaces the document, which costs the server less.
 */
public final class CouchbaseDB extends BenchsiteDB {
    /** The server takes no more paths of one document at a time. */
    static final int MAX_PATHS = 16;
    static final List<Property> DECLARED = Stream.concat(Tls.properties("couchbase").stream(), Stream.of(
        Property.text("couchbase.hosts", "127.0.0.1"),
        Property.whole("couchbase.port", 11_210, 1, 65_535),
        Property.text("couchbase.bucket", "default"),
        Property.text("couchbase.user", ""),
        Property.text("couchbase.password", ""),
        Property.choice("couchbase.durability", "NONE", "NONE", "MAJORITY", "MAJORITY_AND_PERSIST_TO_ACTIVE",
            "PERSIST_TO_MAJORITY"),
        Property.choice("couchbase.persistTo", "NONE", "NONE", "ACTIVE", "ONE", "TWO", "THREE", "FOUR"),
        Property.choice("couchbase.replicateTo", "NONE", "NONE", "ONE", "TWO", "THREE"),
        Property.whole("couchbase.kv_connections", 1, 1, 128),
        Property.whole("couchbase.timeout_ms", 10_000, 1, 3_600_000))).collect(Collectors.toUnmodifiableList());

    private final InsertOptions insertOptions = InsertOptions.insertOptions();
    private final ReplaceOptions replaceOptions = ReplaceOptions.replaceOptions();
    private final MutateInOptions mutateOptions = MutateInOptions.mutateInOptions();
    private final RemoveOptions removeOptions = RemoveOptions.removeOptions();
    private SharedCluster shared;
    private Collection documents;
    private int fieldCount;

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected void connect(Settings given) throws DBException {
        if (shared == null) {
            requestDurability(given);
            fieldCount = Integer.parseInt(getProperties().getProperty(
                CoreWorkload.FIELD_COUNT_PROPERTY, CoreWorkload.FIELD_COUNT_PROPERTY_DEFAULT));
            shared = SharedCluster.acquire(given);
            documents = shared.bucket.defaultCollection();
        }
    }

    private void requestDurability(Settings given) throws DBException {
        DurabilityLevel level = DurabilityLevel.valueOf(given.text("couchbase.durability"));
        PersistTo persistTo = PersistTo.valueOf(given.text("couchbase.persistTo"));
        ReplicateTo replicateTo = ReplicateTo.valueOf(given.text("couchbase.replicateTo"));
        boolean observes = persistTo != PersistTo.NONE || replicateTo != ReplicateTo.NONE;
        if (level != DurabilityLevel.NONE && observes) {
            throw new DBException("couchbase.durability excludes couchbase.persistTo and couchbase.replicateTo: leave "
                + "them NONE, or the durability");
        }
        for (CommonDurabilityOptions<?> options
            : List.of(insertOptions, replaceOptions, mutateOptions, removeOptions)) {
            if (observes) {
                options.durability(persistTo, replicateTo);
            } else {
                options.durability(level);
            }
        }
    }

    /** Keeps the connection: the SDK connects it again, sooner than a new one would open. */
    @Override
    protected void disconnect() {
    }

    @Override
    protected void release() {
        if (shared != null) {
            shared.release();
            shared = null;
        }
    }

    /** The SDK mends its connections by itself; a write whose outcome is unknown may have been done. */
    @Override
    protected Failure classify(Exception thrown) {
        String message = text(thrown);
        if (thrown instanceof DocumentExistsException) {
            return Failure.alreadyThere(message);
        }
        if (thrown instanceof AmbiguousTimeoutException || thrown instanceof DurabilityAmbiguousException
            || thrown instanceof RequestCanceledException) {
            return Failure.broken(message);
        }
        if (thrown instanceof AuthenticationFailureException) {
            return Failure.lasting(Status.FORBIDDEN, message);
        }
        if (thrown instanceof InvalidArgumentException || thrown instanceof IllegalArgumentException
            || thrown instanceof ValueTooLargeException || thrown instanceof BucketNotFoundException
            || thrown instanceof FeatureNotAvailableException || thrown instanceof ReplicaNotConfiguredException
            || thrown instanceof DurabilityLevelNotAvailableException) {
            return Failure.lasting(Status.BAD_REQUEST, message);
        }
        boolean overloaded = thrown instanceof TemporaryFailureException || thrown instanceof ServerOutOfMemoryException
            || thrown instanceof DurabilityImpossibleException || thrown instanceof ReplicaNotAvailableException
            || thrown instanceof DurableWriteInProgressException
            || thrown instanceof DurableWriteReCommitInProgressException || thrown instanceof DocumentLockedException;
        return Failure.passing(overloaded ? Status.SERVICE_UNAVAILABLE : Status.ERROR, message);
    }

    /** The SDK's messages with the name of their class, without the kilobytes of JSON about the request behind them. */
    static String text(Throwable thrown) {
        String message = Failure.describe(thrown);
        int context = message.indexOf(" {\"");
        String name = thrown instanceof CouchbaseException ? thrown.getClass().getSimpleName() + ": " : "";
        return name + (context < 0 ? message : message.substring(0, context));
    }

    @Override
    protected Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
        try {
            if (fields == null || fields.size() > MAX_PATHS) {
                JsonObject document = documents.get(key).contentAsObject();
                for (String field : fields == null ? document.getNames() : fields) {
                    take(field, document.getString(field), result);
                }
                return Status.OK;
            }
            List<LookupInSpec> paths = new ArrayList<>(fields.size());
            fields.forEach(field -> paths.add(LookupInSpec.get(field)));
            LookupInResult values = documents.lookupIn(key, paths);
            int i = 0;
            for (String field : fields) {
                take(field, values.exists(i) ? values.contentAs(i, String.class) : null, result);
                i++;
            }
            return Status.OK;
        } catch (DocumentNotFoundException e) {
            return Status.NOT_FOUND;
        }
    }

    private static void take(String field, String value, Map<String, ByteIterator> result) {
        if (value != null) {
            result.put(field, new ByteArrayByteIterator(value.getBytes(ISO_8859_1)));
        }
    }

    @Override
    protected Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) {
        return Status.NOT_IMPLEMENTED;
    }

    @Override
    protected Status tryUpdate(String table, String key, Map<String, byte[]> values) {
        try {
            if (values.size() >= fieldCount) {
                documents.replace(key, document(values), replaceOptions);
            } else if (values.size() <= MAX_PATHS) {
                List<MutateInSpec> paths = new ArrayList<>(values.size());
                values.forEach((field, value) -> paths.add(MutateInSpec.upsert(field, new String(value, ISO_8859_1))));
                documents.mutateIn(key, paths, mutateOptions);
            } else {
                throw new IllegalArgumentException("an update changes all fields or at most " + MAX_PATHS + ", not "
                    + values.size());
            }
            return Status.OK;
        } catch (DocumentNotFoundException e) {
            return Status.NOT_FOUND;
        }
    }

    @Override
    protected Status tryInsert(String table, String key, Map<String, byte[]> values) {
        documents.insert(key, document(values), insertOptions);
        return Status.OK;
    }

    @Override
    protected Status tryDelete(String table, String key) {
        try {
            documents.remove(key, removeOptions);
            return Status.OK;
        } catch (DocumentNotFoundException e) {
            return Status.NOT_FOUND;
        }
    }

    /** YCSB's values are ASCII. */
    private static JsonObject document(Map<String, byte[]> values) {
        JsonObject document = JsonObject.create(values.size());
        values.forEach((field, value) -> document.put(field, new String(value, ISO_8859_1)));
        return document;
    }
}
