package site.ycsb.db;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;

import org.benchsite.redis.RedisDB;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/** Stands for the stock binding: Benchsite's own under the name of YCSB's class. */
public class RedisClient extends DB {
    private final DB own = new RedisDB();

    @Override
    public void setProperties(Properties properties) {
        super.setProperties(properties);
        own.setProperties(properties);
    }

    @Override
    public void init() throws DBException {
        own.init();
    }

    @Override
    public void cleanup() throws DBException {
        own.cleanup();
    }

    @Override
    public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
        return own.read(table, key, fields, result);
    }

    @Override
    public Status scan(
            String table, String key, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
        return own.scan(table, key, count, fields, result);
    }

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
        return own.update(table, key, values);
    }

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
        return own.insert(table, key, values);
    }

    @Override
    public Status delete(String table, String key) {
        return own.delete(table, key);
    }
}
