package org.benchsite.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Properties;

import benchsite.BareLoop;
import org.benchsite.ycsb.Settings;
import site.ycsb.DBException;

/** The protocol client alone: it neither reads nor makes the fields of a record. */
public final class BareMemcached implements BareLoop {
    private Servers servers;

    @Override
    public void connect(Properties properties) throws DBException {
        servers = new Servers(new Settings(MemcachedDB.DECLARED, properties));
    }

    @Override
    public int read(String key) throws IOException, GeneralSecurityException {
        return servers.of(key).get("get", key.getBytes(ISO_8859_1)) == null ? 0 : 10;
    }

    @Override
    public void update(String key, String field, byte[] value) throws IOException, GeneralSecurityException {
        byte[] bytes = key.getBytes(ISO_8859_1);
        Connection.Item item;
        do {
            item = servers.of(key).get("gets", bytes);
            // All fields of a record have the same length, and lie behind its version byte.
            int length = (item.value.length - 1) / 10;
            int end = 1 + (field.charAt(field.length() - 1) - '0' + 1) * length;
            System.arraycopy(value, 0, item.value, end - value.length, value.length);
        } while (servers.of(key).store("cas", bytes, item.value, item.cas).equals("EXISTS"));
    }

    @Override
    public void close() {
        servers.close();
    }
}
