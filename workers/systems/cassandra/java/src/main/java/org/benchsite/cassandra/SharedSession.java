package org.benchsite.cassandra;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import com.datastax.oss.driver.api.core.CqlIdentifier;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.config.ProgrammaticDriverConfigLoaderBuilder;
import com.datastax.oss.driver.api.core.metadata.NodeState;
import com.datastax.oss.driver.api.core.ssl.ProgrammaticSslEngineFactory;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Shared;
import org.benchsite.ycsb.Tls;

/** The driver's session of this process: opened for the first thread, closed behind the last. */
final class SharedSession {
    private static final Shared<SharedSession> SHARED = new Shared<>();

    final CqlSession session;

    private SharedSession(CqlSession session) {
        this.session = session;
    }

    static SharedSession acquire(Settings given) throws IOException {
        return SHARED.acquire(() -> new SharedSession(open(given)));
    }

    void release() {
        SHARED.release(session::close);
    }

    /** Whether any node is connected. */
    boolean hasNode() {
        return session.getMetadata().getNodes().values().stream()
            .anyMatch(node -> node.getState() != NodeState.FORCED_DOWN && node.getOpenConnections() > 0);
    }

    private static CqlSession open(Settings given) throws IOException {
        Duration timeout = Duration.ofMillis(given.whole("cassandra.timeout_ms"));
        CqlSessionBuilder builder = builder(
            given.text("cassandra.hosts"), given.whole("cassandra.port"), given.text("cassandra.username"),
            given.text("cassandra.password"), given.text("cassandra.local_dc"), given);
        return builder
            .withConfigLoader(config(timeout, given.text("cassandra.local_dc"))
                .withInt(DefaultDriverOption.CONNECTION_POOL_LOCAL_SIZE, given.whole("cassandra.connections"))
                .build())
            .withKeyspace(CqlIdentifier.fromInternal(given.text("cassandra.keyspace")))
            .build();
    }

    /**
     * Contact points (hosts apart by commas), credentials where there are any, the data centre where it is named, and the
     * TLS of the properties.
     */
    static CqlSessionBuilder builder(String hosts, int port, String user, String password, String localDc, Settings tls)
        throws IOException {
        List<InetSocketAddress> contactPoints = new ArrayList<>();
        for (String host : hosts.split(",")) {
            contactPoints.add(new InetSocketAddress(host.trim(), port));
        }
        CqlSessionBuilder builder = CqlSession.builder().addContactPoints(contactPoints);
        if (!user.isEmpty()) {
            builder.withAuthCredentials(user, password);
        }
        if (Tls.isEnabled(tls, "cassandra")) {
            builder.withSslEngineFactory(sslEngineFactory(tls));
        }
        return localDc.isEmpty() ? builder : builder.withLocalDatacenter(localDc);
    }

    /** Without names of the name service: otherwise a certificate may name whatever it calls an address. */
    private static ProgrammaticSslEngineFactory sslEngineFactory(Settings tls) throws IOException {
        try {
            return new ProgrammaticSslEngineFactory(
                Tls.context(tls, "cassandra"), null, Tls.checksHost(tls, "cassandra"), false);
        } catch (GeneralSecurityException e) {
            throw new IOException(e);
        }
    }

    /** Without the name of a data centre, that of the contact points is the local one. */
    static ProgrammaticDriverConfigLoaderBuilder config(Duration timeout, String localDc) {
        ProgrammaticDriverConfigLoaderBuilder config = DriverConfigLoader.programmaticBuilder()
            .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, timeout)
            .withDuration(DefaultDriverOption.CONNECTION_CONNECT_TIMEOUT, timeout)
            .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, timeout)
            .withDuration(DefaultDriverOption.CONTROL_CONNECTION_TIMEOUT, timeout)
            // A node that comes back is used again at once, as the other bindings do.
            .withDuration(DefaultDriverOption.RECONNECTION_BASE_DELAY, Duration.ofMillis(100))
            .withDuration(DefaultDriverOption.RECONNECTION_MAX_DELAY, Duration.ofSeconds(1))
            // Nothing is in flight when a session is closed: netty need not wait for late work.
            .withInt(DefaultDriverOption.NETTY_IO_SHUTDOWN_QUIET_PERIOD, 0)
            .withInt(DefaultDriverOption.NETTY_ADMIN_SHUTDOWN_QUIET_PERIOD, 0);
        if (localDc.isEmpty()) {
            config.withString(DefaultDriverOption.LOAD_BALANCING_POLICY_CLASS, "DcInferringLoadBalancingPolicy");
        }
        return config;
    }
}
