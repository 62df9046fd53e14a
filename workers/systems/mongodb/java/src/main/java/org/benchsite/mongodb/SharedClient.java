package org.benchsite.mongodb;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import javax.net.ssl.SSLContext;

import com.mongodb.MongoClientSettings;
import com.mongodb.MongoCredential;
import com.mongodb.ReadConcern;
import com.mongodb.ReadConcernLevel;
import com.mongodb.ReadPreference;
import com.mongodb.ServerAddress;
import com.mongodb.WriteConcern;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Shared;
import org.benchsite.ycsb.Tls;

/** The driver's client of this process: made for the first thread, closed behind the last. */
final class SharedClient {
    private static final Shared<SharedClient> SHARED = new Shared<>();

    final MongoClient client;

    private SharedClient(MongoClient client) {
        this.client = client;
    }

    static SharedClient acquire(Settings given, int connections)
        throws IOException, GeneralSecurityException {
        MongoClientSettings options = options(given, connections).build();
        return SHARED.acquire(() -> new SharedClient(MongoClients.create(options)));
    }

    void release() {
        SHARED.release(client::close);
    }

    /** Everything that the properties ask for. Each of so many threads finds a connection that is open already. */
    static MongoClientSettings.Builder options(Settings given, int connections)
        throws IOException, GeneralSecurityException {
        int timeoutMs = given.whole("mongodb.timeout_ms");
        List<ServerAddress> nodes = new ArrayList<>();
        for (String host : given.text("mongodb.hosts").split(",")) {
            boolean hasPort = host.contains("]:") || host.indexOf(':') == host.lastIndexOf(':') && host.contains(":");
            nodes.add(hasPort ? new ServerAddress(host.trim()) : new ServerAddress(host.trim(), given.whole("mongodb.port")));
        }
        MongoClientSettings.Builder options = MongoClientSettings.builder()
            .applyToClusterSettings(cluster -> {
                cluster.hosts(nodes).serverSelectionTimeout(timeoutMs, TimeUnit.MILLISECONDS);
                if (!given.text("mongodb.replica_set").isEmpty()) {
                    cluster.requiredReplicaSetName(given.text("mongodb.replica_set"));
                }
            })
            .applyToConnectionPoolSettings(pool -> pool.minSize(connections).maxSize(connections)
                .maxWaitTime(timeoutMs, TimeUnit.MILLISECONDS))
            .applyToSocketSettings(socket -> socket.connectTimeout(timeoutMs, TimeUnit.MILLISECONDS)
                .readTimeout(timeoutMs, TimeUnit.MILLISECONDS))
            .applyToServerSettings(server -> server.minHeartbeatFrequency(100, TimeUnit.MILLISECONDS))
            .retryWrites(given.flag("mongodb.driver_retries"))
            .retryReads(given.flag("mongodb.driver_retries"))
            .readPreference(ReadPreference.valueOf(given.text("mongodb.read_preference")))
            .readConcern(readConcern(given.text("mongodb.read_concern")))
            .writeConcern(writeConcern(given));
        if (Tls.isEnabled(given, "mongodb")) {
            SSLContext context = Tls.context(given, "mongodb");
            options.applyToSslSettings(ssl -> ssl.enabled(true).context(context)
                .invalidHostNameAllowed(!Tls.checksHost(given, "mongodb")));
        }
        if (!given.text("mongodb.user").isEmpty()) {
            options.credential(MongoCredential.createCredential(given.text("mongodb.user"),
                given.text("mongodb.auth_source"), given.text("mongodb.password").toCharArray()));
        }
        return options;
    }

    private static ReadConcern readConcern(String level) {
        return level.equals("default") ? ReadConcern.DEFAULT : new ReadConcern(ReadConcernLevel.fromString(level));
    }

    /** With "default" for `w` and `journal` nothing is sent, and the server decides. */
    private static WriteConcern writeConcern(Settings given) {
        String w = given.text("mongodb.w");
        WriteConcern concern = WriteConcern.ACKNOWLEDGED;
        if (w.matches("[0-9]+")) {
            concern = new WriteConcern(Integer.parseInt(w));
        } else if (!w.equals("default")) {
            concern = new WriteConcern(w);
        }
        if (!given.text("mongodb.journal").equals("default")) {
            concern = concern.withJournal(given.flag("mongodb.journal"));
        }
        int wtimeoutMs = given.whole("mongodb.wtimeout_ms");
        return wtimeoutMs == 0 ? concern : concern.withWTimeout(wtimeoutMs, TimeUnit.MILLISECONDS);
    }
}
