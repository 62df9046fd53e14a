package org.benchsite.cassandra;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

import benchsite.BareLoop;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import org.benchsite.ycsb.Settings;
import site.ycsb.DBException;

/** The Apache driver alone, with the session of the binding. */
public final class BareCassandra implements BareLoop {
    private final Map<String, PreparedStatement> updates = new HashMap<>();
    private SharedSession shared;
    private PreparedStatement select;

    @Override
    public void connect(Properties properties) throws DBException, IOException {
        shared = SharedSession.acquire(new Settings(CassandraDB.DECLARED, properties));
        select = shared.session.prepare("SELECT * FROM usertable WHERE y_id = ?");
    }

    @Override
    public int read(String key) {
        Row row = shared.session.execute(select.bind(key)).one();
        int fields = 0;
        for (int i = 0; i < row.size(); i++) {
            fields += row.getBytesUnsafe(i) == null ? 0 : 1;
        }
        return fields - 1;
    }

    @Override
    public void update(String key, String field, byte[] value) {
        PreparedStatement update = updates.computeIfAbsent(
            field, name -> shared.session.prepare("UPDATE usertable SET " + name + " = ? WHERE y_id = ?"));
        shared.session.execute(update.bind(new String(value, ISO_8859_1), key));
    }

    @Override
    public void close() {
        shared.release();
    }
}
