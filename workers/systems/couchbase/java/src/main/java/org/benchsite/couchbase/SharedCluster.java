package org.benchsite.couchbase;

import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

import com.couchbase.client.core.env.Authenticator;
import com.couchbase.client.core.env.CertificateAuthenticator;
import com.couchbase.client.core.env.PasswordAuthenticator;
import com.couchbase.client.core.error.CouchbaseException;
import com.couchbase.client.core.service.ServiceType;
import com.couchbase.client.java.Bucket;
import com.couchbase.client.java.Cluster;
import com.couchbase.client.java.ClusterOptions;
import com.couchbase.client.java.diagnostics.WaitUntilReadyOptions;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Shared;
import org.benchsite.ycsb.Tls;
import site.ycsb.DBException;

/** The SDK's connection of this process: opened for the first thread, closed behind the last. */
final class SharedCluster {
    private static final Shared<SharedCluster> SHARED = new Shared<>();

    final Cluster cluster;
    final Bucket bucket;

    private SharedCluster(Cluster cluster, Bucket bucket) {
        this.cluster = cluster;
        this.bucket = bucket;
    }

    static SharedCluster acquire(Settings given) throws DBException {
        return SHARED.acquire(() -> open(given));
    }

    void release() {
        SHARED.release(cluster::disconnect);
    }

    /** Connected to every node of the bucket. Throws a DBException where it is not within the time. */
    static SharedCluster open(Settings given) throws DBException {
        Duration timeout = Duration.ofMillis(given.whole("couchbase.timeout_ms"));
        boolean tls = Tls.isEnabled(given, "couchbase");
        ClusterOptions options = ClusterOptions.clusterOptions(authenticator(given)).environment(environment -> environment
            .ioConfig(io -> io.numKvConnections(given.whole("couchbase.kv_connections")))
            .timeoutConfig(timeouts -> timeouts.kvTimeout(timeout).kvDurableTimeout(timeout).connectTimeout(timeout)
                .managementTimeout(timeout))
            .securityConfig(security -> {
                if (tls) {
                    security.enableTls(true).enableHostnameVerification(Tls.checksHost(given, "couchbase"))
                        .enableCertificateVerification(!given.text("couchbase.tls").equals("trust"));
                }
                if (!Tls.authorities(given, "couchbase").isEmpty()) {
                    security.trustCertificates(Tls.authorities(given, "couchbase"));
                }
            }));
        Cluster cluster = Cluster.connect(connectionString(given), options);
        Bucket bucket = cluster.bucket(given.text("couchbase.bucket"));
        try {
            bucket.waitUntilReady(timeout, WaitUntilReadyOptions.waitUntilReadyOptions()
                .serviceTypes(EnumSet.of(ServiceType.KV)));
        } catch (CouchbaseException e) {
            cluster.disconnect();
            throw new DBException("bucket " + bucket.name() + " at " + given.text("couchbase.hosts") + ":"
                + given.whole("couchbase.port") + " cannot be opened within " + timeout.toMillis()
                + " ms (address, bucket, user, password, TLS?): " + CouchbaseDB.text(e), e);
        }
        return new SharedCluster(cluster, bucket);
    }

    /** A socket that is not connected yet and demands of the node what the SDK does. */
    static Socket tlsSocket(Settings given) throws IOException {
        try {
            SSLSocket socket = (SSLSocket) Tls.context(given, "couchbase").getSocketFactory().createSocket();
            SSLParameters parameters = socket.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm(Tls.checksHost(given, "couchbase") ? "HTTPS" : null);
            socket.setSSLParameters(parameters);
            return socket;
        } catch (GeneralSecurityException e) {
            throw new IOException("TLS: " + e.getMessage(), e);
        }
    }

    private static Authenticator authenticator(Settings given) throws DBException {
        try {
            KeyManagerFactory keys = Tls.keys(given, "couchbase");
            return keys == null
                ? PasswordAuthenticator.create(given.text("couchbase.user"), given.text("couchbase.password"))
                : CertificateAuthenticator.fromKeyManagerFactory(() -> keys);
        } catch (GeneralSecurityException | IOException e) {
            throw new DBException("TLS: " + e.getMessage(), e);
        }
    }

    /** The nodes (apart by commas) by their key-value port; the SDK learns of the other ports and nodes from them. */
    private static String connectionString(Settings given) {
        List<String> nodes = new ArrayList<>();
        for (String host : given.text("couchbase.hosts").split(",")) {
            String bracketed = host.indexOf(':') < 0 ? host.trim() : "[" + host.trim() + "]";
            nodes.add(bracketed + ":" + given.whole("couchbase.port") + "=kv");
        }
        String scheme = Tls.isEnabled(given, "couchbase") ? "couchbases" : "couchbase";
        return scheme + "://" + String.join(",", nodes);
    }
}
