package org.benchsite.mongodb;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Map;

import com.mongodb.client.MongoDatabase;
import org.bson.Document;

/**
 * The administration of a FerretDB. The server that Benchsite starts states its version, folder and settings in a
 * document; every other one shows its version and what is behind it.
 */
public final class FerretAdmin extends Admin {
    private FerretAdmin(Address address) {
        super(address);
    }

    public static void main(String[] args) throws IOException {
        serve(FerretAdmin::new);
    }

    @Override
    protected String dataFolder() {
        return setting(null, "data");
    }

    /** There is one server, so `set` is not asked. */
    @Override
    protected String setting(MongoDatabase set, String name) {
        Document settings = client.getDatabase("benchsite_server").getCollection("settings").find().first();
        if (settings != null) {
            return settings.get(name, "");
        }
        return "handler".equals(name) ? backend() : "";
    }

    /** As FerretDB names it in its log: "Powered by FerretDB v1.24.0 and PostgreSQL 16.3." */
    private String backend() {
        String log = client.getDatabase("admin").runCommand(new Document("getLog", "startupWarnings")).toString();
        return log.contains(" and PostgreSQL ") ? "postgresql" : log.contains(" and SQLite ") ? "sqlite" : "";
    }

    @Override
    protected String serverVersion() {
        String version = setting(null, "version");
        return version.isEmpty() ? super.serverVersion() : version;
    }

    @Override
    protected Map<String, String> topology() throws IOException, GeneralSecurityException {
        Map<String, String> topology = super.topology();
        if (isFerret()) {
            topology.remove("stand_in");
        } else {
            topology.put("stand_in", "MongoDB");
        }
        return topology;
    }
}
