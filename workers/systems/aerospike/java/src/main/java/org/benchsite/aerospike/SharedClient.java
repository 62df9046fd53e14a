package org.benchsite.aerospike;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.Host;
import com.aerospike.client.policy.AuthMode;
import com.aerospike.client.policy.ClientPolicy;
import com.aerospike.client.policy.Policy;
import com.aerospike.client.policy.TlsPolicy;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Shared;
import org.benchsite.ycsb.Tls;
import site.ycsb.DBException;

/** The driver's client of this process: opened for the first thread, closed behind the last. */
final class SharedClient {
    private static final Shared<SharedClient> SHARED = new Shared<>();

    final AerospikeClient client;

    private SharedClient(AerospikeClient client) {
        this.client = client;
    }

    /** `threads`: of the process, each of which has a connection to each node at most. */
    static SharedClient acquire(Settings given, int threads) throws DBException {
        return SHARED.acquire(() -> new SharedClient(open(given, threads)));
    }

    void release() {
        SHARED.release(client::close);
    }

    /** Throws a DBException where no node can be used. */
    static AerospikeClient open(Settings given, int threads) throws DBException {
        ClientPolicy policy = new ClientPolicy();
        policy.timeout = given.whole("aerospike.timeout_ms");
        policy.loginTimeout = policy.timeout;
        policy.maxConnsPerNode = Math.max(policy.maxConnsPerNode, threads);
        policy.useServicesAlternate = given.flag("aerospike.services_alternate");
        if (!given.text("aerospike.user").isEmpty()) {
            policy.user = given.text("aerospike.user");
            policy.password = given.text("aerospike.password");
        }
        policy.authMode = AuthMode.valueOf(given.text("aerospike.auth"));
        boolean tls = Tls.isEnabled(given, "aerospike");
        int port = given.whole("aerospike.port");
        List<Host> hosts = new ArrayList<>();
        for (String host : given.text("aerospike.hosts").split(",")) {
            String tlsName = given.text("aerospike.tls_name").isEmpty() ? host : given.text("aerospike.tls_name");
            hosts.add(new Host(host, tls ? tlsName : null, port));
        }
        try {
            if (tls) {
                policy.tlsPolicy = new TlsPolicy();
                policy.tlsPolicy.context = Tls.context(given, "aerospike");
            }
            return new AerospikeClient(policy, hosts.toArray(new Host[0]));
        } catch (AerospikeException | GeneralSecurityException | IOException e) {
            throw new DBException("no node of " + hosts + " can be used: " + Failure.describe(e), e);
        }
    }

    /** Attempts are the base class's. */
    static <P extends Policy> P once(P policy, Settings given) {
        policy.socketTimeout = given.whole("aerospike.timeout_ms");
        policy.totalTimeout = policy.socketTimeout;
        policy.maxRetries = 0;
        return policy;
    }
}
