package org.benchsite.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.Properties;

import benchsite.BareLoop;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;

/** Jedis alone. */
public final class BareJedis implements BareLoop {
    private Jedis jedis;

    @Override
    public void connect(Properties properties) {
        jedis = new Jedis(
            new HostAndPort(properties.getProperty("redis.host"), Integer.parseInt(properties.getProperty("redis.port"))),
            DefaultJedisClientConfig.builder().resp2().password(properties.getProperty("redis.password")).build());
    }

    @Override
    public int read(String key) {
        return jedis.hgetAll(key).size();
    }

    @Override
    public void update(String key, String field, byte[] value) {
        jedis.hset(key, field, new String(value, ISO_8859_1));
    }

    @Override
    public void close() {
        jedis.close();
    }
}
