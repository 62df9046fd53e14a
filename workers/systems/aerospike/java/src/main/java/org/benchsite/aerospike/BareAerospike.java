package org.benchsite.aerospike;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.Properties;

import benchsite.BareLoop;
import com.aerospike.client.Bin;
import com.aerospike.client.Key;
import com.aerospike.client.policy.Policy;
import com.aerospike.client.policy.WritePolicy;
import org.benchsite.ycsb.Settings;
import site.ycsb.DBException;

/** The driver alone, of which all threads share one client as they do through the binding. */
public final class BareAerospike implements BareLoop {
    private static final int THREADS = 100;

    private SharedClient shared;
    private String namespace;
    private Policy reads;
    private WritePolicy writes;

    @Override
    public void connect(Properties properties) throws DBException {
        Settings given = new Settings(AerospikeDB.DECLARED, properties);
        shared = SharedClient.acquire(given, THREADS);
        namespace = given.text("aerospike.namespace");
        reads = SharedClient.once(new Policy(), given);
        writes = SharedClient.once(new WritePolicy(), given);
    }

    @Override
    public int read(String key) {
        return shared.client.get(reads, new Key(namespace, "usertable", key)).bins.size();
    }

    @Override
    public void update(String key, String field, byte[] value) {
        shared.client.put(writes, new Key(namespace, "usertable", key), new Bin(field, new String(value, ISO_8859_1)));
    }

    @Override
    public void close() {
        shared.release();
    }
}
