package org.benchsite.ycsb;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;

import site.ycsb.ByteIterator;
import site.ycsb.Status;

/** A binding that keeps no data: its attempts fail as told, then succeed. */
final class FaultyDB extends BenchsiteDB {
    static final List<Property> DECLARED = List.of(Property.text("faulty.host", "nowhere"));

    final Deque<Failure> coming = new ArrayDeque<>();
    final Deque<Exception> connecting = new ArrayDeque<>();
    int attempts;
    int connections;
    Map<String, byte[]> lastValues;

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected void connect(Settings given) throws Exception {
        connections++;
        if (!connecting.isEmpty()) {
            throw connecting.pop();
        }
    }

    @Override
    protected void disconnect() {
    }

    @Override
    protected Failure classify(Exception thrown) {
        return Failure.broken(Failure.describe(thrown));
    }

    private Status attempt() throws OperationFailed {
        attempts++;
        if (!coming.isEmpty()) {
            throw new OperationFailed(coming.pop());
        }
        return Status.OK;
    }

    @Override
    protected Status tryRead(String table, String key, Set<String> fields, Map<String, ByteIterator> result)
        throws OperationFailed {
        attempt();
        return key.equals("missing") ? Status.NOT_FOUND : Status.OK;
    }

    @Override
    protected Status tryScan(
        String table, String startKey, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result
    ) throws OperationFailed {
        return attempt();
    }

    @Override
    protected Status tryUpdate(String table, String key, Map<String, byte[]> values) throws OperationFailed {
        lastValues = values;
        return attempt();
    }

    @Override
    protected Status tryInsert(String table, String key, Map<String, byte[]> values) throws OperationFailed {
        lastValues = values;
        return attempt();
    }

    @Override
    protected Status tryDelete(String table, String key) throws OperationFailed {
        return attempt();
    }
}
