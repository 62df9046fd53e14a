package org.benchsite.aerospike;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.Bin;
import com.aerospike.client.Key;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.policy.CommitLevel;
import com.aerospike.client.policy.Policy;
import com.aerospike.client.policy.ReadModeAP;
import com.aerospike.client.policy.ReadModeSC;
import com.aerospike.client.policy.RecordExistsAction;
import com.aerospike.client.policy.Replica;
import com.aerospike.client.policy.WritePolicy;
import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.Property;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.Client;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Aerospike: one record per record, in the set of the table's name, with one bin of text per field. There are no scans in
 * the order of keys.
 *
 * <p>All threads of the process share one client of the driver, which has a connection for each of them.
 */
public final class AerospikeDB extends BenchsiteDB {
    static final List<Property> DECLARED = Stream.concat(Tls.properties("aerospike").stream(), Stream.of(
        Property.text("aerospike.hosts", "127.0.0.1"),
        Property.whole("aerospike.port", 3000, 1, 65_535),
        Property.text("aerospike.namespace", "ycsb"),
        Property.text("aerospike.user", ""),
        Property.text("aerospike.password", ""),
        Property.choice("aerospike.auth", "INTERNAL", "INTERNAL", "EXTERNAL", "PKI"),
        Property.text("aerospike.tls_name", ""),
        Property.choice("aerospike.commit_level", "COMMIT_ALL", "COMMIT_ALL", "COMMIT_MASTER"),
        Property.choice("aerospike.read_mode_ap", "ONE", "ONE", "ALL"),
        Property.choice("aerospike.read_mode_sc", "SESSION", "SESSION", "LINEARIZE", "ALLOW_REPLICA",
            "ALLOW_UNAVAILABLE"),
        Property.choice("aerospike.replica", "SEQUENCE", "SEQUENCE", "MASTER", "MASTER_PROLES", "RANDOM"),
        Property.flag("aerospike.partial_updates", true),
        Property.flag("aerospike.durable_delete", false),
        Property.flag("aerospike.services_alternate", false),
        Property.whole("aerospike.timeout_ms", 10_000, 1, 3_600_000))).collect(Collectors.toUnmodifiableList());

    private SharedClient shared;
    private String namespace;
    private Policy reads;
    private WritePolicy inserts;
    private WritePolicy updates;

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected void connect(Settings given) throws DBException {
        if (shared == null) {
            namespace = given.text("aerospike.namespace");
            reads = policy(new Policy(), given);
            inserts = writePolicy(given, RecordExistsAction.CREATE_ONLY);
            updates = writePolicy(given, given.flag("aerospike.partial_updates")
                ? RecordExistsAction.UPDATE_ONLY : RecordExistsAction.REPLACE_ONLY);
            shared = SharedClient.acquire(given, threads());
        }
    }

    private int threads() {
        return Integer.parseInt(getProperties().getProperty(Client.THREAD_COUNT_PROPERTY, "1"));
    }

    private static <P extends Policy> P policy(P policy, Settings given) {
        policy.readModeAP = ReadModeAP.valueOf(given.text("aerospike.read_mode_ap"));
        policy.readModeSC = ReadModeSC.valueOf(given.text("aerospike.read_mode_sc"));
        policy.replica = Replica.valueOf(given.text("aerospike.replica"));
        return SharedClient.once(policy, given);
    }

    private static WritePolicy writePolicy(Settings given, RecordExistsAction action) {
        WritePolicy policy = policy(new WritePolicy(), given);
        policy.recordExistsAction = action;
        policy.commitLevel = CommitLevel.valueOf(given.text("aerospike.commit_level"));
        policy.durableDelete = given.flag("aerospike.durable_delete");
        return policy;
    }

    /** Keeps the client: the driver connects it again. */
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

    /** By the result code, the driver's own (negative) or the server's; a write in doubt may have been done. */
    @Override
    protected String errorCode(Exception thrown) {
        return thrown instanceof AerospikeException ? String.valueOf(((AerospikeException) thrown).getResultCode())
            : super.errorCode(thrown);
    }

    @Override
    protected Failure classify(Exception thrown) {
        String message = Failure.describe(thrown);
        if (!(thrown instanceof AerospikeException)) {
            return thrown instanceof IllegalArgumentException ? Failure.lasting(Status.BAD_REQUEST, message)
                : Failure.passing(Status.ERROR, message);
        }
        AerospikeException error = (AerospikeException) thrown;
        int code = error.getResultCode();
        if (code == ResultCode.KEY_EXISTS_ERROR) {
            return Failure.alreadyThere(message);
        }
        if (error.getInDoubt() || error instanceof AerospikeException.Connection
            || error instanceof AerospikeException.InvalidNode) {
            return Failure.broken(message);
        }
        if (code >= ResultCode.SECURITY_NOT_SUPPORTED && code <= ResultCode.QUOTA_EXCEEDED) {
            return Failure.lasting(Status.FORBIDDEN, message);
        }
        switch (code) {
            case ResultCode.PARAMETER_ERROR:
            case ResultCode.ALWAYS_FORBIDDEN:
            case ResultCode.BIN_TYPE_ERROR:
            case ResultCode.RECORD_TOO_BIG:
            case ResultCode.UNSUPPORTED_FEATURE:
            case ResultCode.INVALID_NAMESPACE:
            case ResultCode.BIN_NAME_TOO_LONG:
            case ResultCode.FAIL_FORBIDDEN:
            case ResultCode.ENTERPRISE_ONLY:
                return Failure.lasting(Status.BAD_REQUEST, message);
            case ResultCode.SERVER_MEM_ERROR:
            case ResultCode.PARTITION_UNAVAILABLE:
            case ResultCode.KEY_BUSY:
            case ResultCode.DEVICE_OVERLOAD:
            case ResultCode.LOST_CONFLICT:
            case ResultCode.SERVER_NOT_AVAILABLE:
                return Failure.passing(Status.SERVICE_UNAVAILABLE, message);
            default:
                return Failure.passing(Status.ERROR, message);
        }
    }

    @Override
    protected Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
        AerospikeClient client = shared.client;
        Record record = fields == null ? client.get(reads, key(table, key))
            : client.get(reads, key(table, key), fields.toArray(new String[0]));
        if (record == null) {
            return Status.NOT_FOUND;
        }
        if (record.bins != null) {
            record.bins.forEach((field, value) ->
                result.put(field, new ByteArrayByteIterator(((String) value).getBytes(ISO_8859_1))));
        }
        return Status.OK;
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
            shared.client.put(updates, key(table, key), bins(values));
            return Status.OK;
        } catch (AerospikeException e) {
            if (e.getResultCode() == ResultCode.KEY_NOT_FOUND_ERROR) {
                return Status.NOT_FOUND;
            }
            throw e;
        }
    }

    @Override
    protected Status tryInsert(String table, String key, Map<String, byte[]> values) {
        shared.client.put(inserts, key(table, key), bins(values));
        return Status.OK;
    }

    @Override
    protected Status tryDelete(String table, String key) {
        return shared.client.delete(updates, key(table, key)) ? Status.OK : Status.NOT_FOUND;
    }

    private Key key(String table, String key) {
        return new Key(namespace, table, key);
    }

    /** YCSB's values are ASCII. */
    private static Bin[] bins(Map<String, byte[]> values) {
        Bin[] bins = new Bin[values.size()];
        int i = 0;
        for (Map.Entry<String, byte[]> value : values.entrySet()) {
            bins[i++] = new Bin(value.getKey(), new String(value.getValue(), ISO_8859_1));
        }
        return bins;
    }
}
