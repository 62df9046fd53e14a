package org.benchsite.mongodb;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Properties;

import benchsite.BareLoop;
import com.mongodb.client.MongoCollection;
import org.benchsite.ycsb.Settings;
import org.bson.Document;
import site.ycsb.DBException;

/** The driver alone, with its own documents. */
public final class BareMongo implements BareLoop {
    private SharedClient shared;
    private MongoCollection<Document> records;

    @Override
    public void connect(Properties properties) throws DBException, IOException, GeneralSecurityException {
        Settings settings = new Settings(MongoDB.DECLARED, properties);
        shared = SharedClient.acquire(settings, Integer.parseInt(properties.getProperty("threadcount", "1")));
        records = shared.client.getDatabase(settings.text("mongodb.database")).getCollection("usertable");
    }

    @Override
    public int read(String key) {
        Document document = records.find(new Document(MongoDB.KEY, key)).first();
        return document == null ? 0 : document.size() - 1;
    }

    @Override
    public void update(String key, String field, byte[] value) {
        records.updateOne(new Document(MongoDB.KEY, key), new Document("$set", new Document(field, value)));
    }

    @Override
    public void close() {
        shared.release();
    }
}
