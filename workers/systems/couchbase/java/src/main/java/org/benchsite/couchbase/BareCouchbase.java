package org.benchsite.couchbase;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.List;
import java.util.Properties;

import benchsite.BareLoop;
import com.couchbase.client.java.Collection;
import com.couchbase.client.java.kv.MutateInSpec;
import org.benchsite.ycsb.Settings;
import site.ycsb.DBException;

/** The SDK alone, of which all threads share one connection as they do through the binding. */
public final class BareCouchbase implements BareLoop {
    private SharedCluster shared;
    private Collection documents;

    @Override
    public void connect(Properties properties) throws DBException {
        shared = SharedCluster.acquire(new Settings(CouchbaseDB.DECLARED, properties));
        documents = shared.bucket.defaultCollection();
    }

    @Override
    public int read(String key) {
        return documents.get(key).contentAsObject().size();
    }

    @Override
    public void update(String key, String field, byte[] value) {
        documents.mutateIn(key, List.of(MutateInSpec.upsert(field, new String(value, ISO_8859_1))));
    }

    @Override
    public void close() {
        shared.release();
    }
}
