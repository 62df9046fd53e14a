package org.benchsite.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.Closeable;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Arrays;

import org.benchsite.ycsb.Settings;

/**
 * Connections of one thread to all servers, each opened when it is needed. Servers know nothing of each other: the client
 * decides by a key's hash where it lies, as spymemcached and therefore YCSB's own client do by default.
 */
final class Servers implements Closeable {
    private static final int MAX_KEY_BYTES = 250;

    private final Settings settings;
    private final String[] hosts;
    private final Connection[] connections;

    Servers(Settings settings) {
        this.settings = settings;
        hosts = settings.text("memcached.hosts").trim().split("\\s*,\\s*");
        connections = new Connection[hosts.length];
    }

    int count() {
        return hosts.length;
    }

    /** The number of the server that has the key. */
    int serverOf(String key) {
        return (int) (Integer.toUnsignedLong(key.hashCode()) % hosts.length);
    }

    Connection of(String key) throws IOException, GeneralSecurityException {
        return get(serverOf(key));
    }

    Connection get(int server) throws IOException, GeneralSecurityException {
        if (connections[server] == null) {
            connections[server] = Connection.open(hosts[server], settings);
        }
        return connections[server];
    }

    /** Bytes of a key; throws an IllegalArgumentException for what no key can be. */
    static byte[] bytes(String key) {
        byte[] bytes = key.getBytes(ISO_8859_1);
        for (byte character : bytes) {
            if (character >= 0 && character <= ' ' || character == 127) {
                throw new IllegalArgumentException("a key must not hold blanks or control characters");
            }
        }
        if (bytes.length == 0 || bytes.length > MAX_KEY_BYTES) {
            throw new IllegalArgumentException("a key must have 1 to " + MAX_KEY_BYTES + " bytes, not " + bytes.length);
        }
        return bytes;
    }

    @Override
    public void close() {
        for (Connection connection : connections) {
            if (connection != null) {
                connection.close();
            }
        }
        Arrays.fill(connections, null);
    }
}
