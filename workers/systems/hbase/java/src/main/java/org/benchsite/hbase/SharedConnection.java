package org.benchsite.hbase;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.UUID;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.security.User;
import org.apache.hadoop.security.UserGroupInformation;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Shared;
import org.benchsite.ycsb.Tls;

/** The driver's connection of this process: opened for the first thread, closed behind the last. */
final class SharedConnection {
    /** How long a client waits for ZooKeeper between two attempts. */
    private static final int ZOOKEEPER_PAUSE_MS = 500;
    private static final Shared<SharedConnection> SHARED = new Shared<>();

    final Connection connection;

    private SharedConnection(Connection connection) {
        this.connection = connection;
    }

    static SharedConnection acquire(Settings given) throws IOException {
        return SHARED.acquire(() -> new SharedConnection(open(given, given.text("hbase.hosts"), given.whole("hbase.port"))));
    }

    void release() {
        SHARED.release(() -> {
            try {
                connection.close();
            } catch (IOException e) {
                // Nothing is in flight any more.
            }
        });
    }

    /** A connection that has read a row of the catalog of tables: the factory itself contacts no server. */
    static Connection open(Settings given, String hosts, int port) throws IOException {
        String user = given.text("hbase.user");
        Configuration configuration = configuration(given, hosts, port);
        Connection connection = ConnectionFactory.createConnection(configuration,
            user.isEmpty() ? User.getCurrent() : User.create(UserGroupInformation.createRemoteUser(user)));
        try (Table catalog = connection.getTable(TableName.META_TABLE_NAME)) {
            catalog.exists(new Get(new byte[] {0}));
            return connection;
        } catch (IOException e) {
            connection.close();
            throw e;
        }
    }

    private static Configuration configuration(Settings given, String hosts, int port) throws IOException {
        int timeoutMs = given.whole("hbase.timeout_ms");
        Configuration configuration = HBaseConfiguration.create();
        configuration.set("hbase.zookeeper.quorum", hosts);
        configuration.setInt("hbase.zookeeper.property.clientPort", port);
        configuration.set("zookeeper.znode.parent", given.text("hbase.znode"));
        for (String timeout : new String[] {
            "hbase.rpc.timeout", "hbase.rpc.read.timeout", "hbase.rpc.write.timeout", "hbase.client.operation.timeout",
            "hbase.client.meta.operation.timeout", "hbase.client.scanner.timeout.period",
            "hbase.ipc.client.socket.timeout.connect", "zookeeper.session.timeout"}) {
            configuration.setInt(timeout, timeoutMs);
        }
        configuration.setInt("zookeeper.recovery.retry", Math.max(timeoutMs / ZOOKEEPER_PAUSE_MS, 1));
        configuration.setInt("zookeeper.recovery.retry.intervalmill", ZOOKEEPER_PAUSE_MS);
        // One more attempt, for a region that has moved; further ones are those of the binding (benchsite.retries).
        configuration.setInt("hbase.client.retries.number", 1);
        // A server that comes back is used again at once, as the other bindings do.
        configuration.setInt("hbase.ipc.client.failed.servers.expiry", 100);
        configuration.setInt("hbase.client.ipc.pool.size", given.whole("hbase.connections"));
        configuration.setLong("hbase.client.write.buffer", given.whole("hbase.write_buffer_kb") * 1024L);
        if (Tls.isEnabled(given, "hbase")) {
            encrypt(given, configuration);
        }
        return configuration;
    }

    /** The driver reads certificates and keys from files only, which this process deletes when it ends. */
    private static void encrypt(Settings given, Configuration configuration) throws IOException {
        configuration.setBoolean("hbase.client.netty.tls.enabled", true);
        configuration.setBoolean("hbase.client.netty.tls.verify.server.hostname", Tls.checksHost(given, "hbase"));
        // Otherwise a certificate may name whatever the name service calls an address.
        configuration.setBoolean("hbase.rpc.tls.host-verification.reverse-dns.enabled", false);
        String password = UUID.randomUUID().toString();
        try {
            write(Tls.trustStore(given, "hbase"), password, "hbase.rpc.tls.truststore.", configuration);
            write(Tls.keyStore(given, "hbase", password.toCharArray()), password, "hbase.rpc.tls.keystore.",
                configuration);
        } catch (GeneralSecurityException e) {
            throw new IOException(e);
        }
    }

    private static void write(KeyStore store, String password, String prefix, Configuration configuration)
        throws GeneralSecurityException, IOException {
        if (store == null) {
            return;
        }
        Path path = Files.createTempFile("benchsite-", ".jks");
        path.toFile().deleteOnExit();
        try (OutputStream file = Files.newOutputStream(path)) {
            store.store(file, password.toCharArray());
        }
        configuration.set(prefix + "location", path.toString());
        configuration.set(prefix + "type", store.getType());
        configuration.set(prefix + "password", password);
    }
}
