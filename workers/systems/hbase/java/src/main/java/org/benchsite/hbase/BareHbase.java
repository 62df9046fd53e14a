package org.benchsite.hbase;

import java.io.IOException;
import java.util.Properties;

import benchsite.BareLoop;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Table;
import org.benchsite.ycsb.Settings;
import site.ycsb.DBException;

/** The driver alone, over one connection for all threads. */
public final class BareHbase implements BareLoop {
    private SharedConnection shared;
    private Table table;
    private byte[] family;
    private Durability durability;

    @Override
    public void connect(Properties properties) throws DBException, IOException {
        Settings settings = new Settings(HbaseDB.DECLARED, properties);
        family = HbaseDB.bytes(settings.text("hbase.family"));
        durability = Durability.valueOf(settings.text("hbase.durability"));
        shared = SharedConnection.acquire(settings);
        table = shared.connection.getTable(TableName.valueOf("usertable"));
    }

    @Override
    public int read(String key) throws IOException {
        return table.get(new Get(HbaseDB.bytes(key)).addFamily(family)).size();
    }

    @Override
    public void update(String key, String field, byte[] value) throws IOException {
        Put put = new Put(HbaseDB.bytes(key)).addColumn(family, HbaseDB.bytes(field), value);
        put.setDurability(durability);
        table.put(put);
    }

    @Override
    public void close() {
        shared.release();
    }
}
