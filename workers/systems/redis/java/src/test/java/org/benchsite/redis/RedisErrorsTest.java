package org.benchsite.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Properties;

import org.benchsite.ycsb.BenchsiteDB;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import site.ycsb.DB;
import site.ycsb.DBException;

class RedisErrorsTest {
    @ParameterizedTest
    @CsvSource({
        "NOAUTH Authentication required., FORBIDDEN false",
        "WRONGPASS invalid username-password pair, FORBIDDEN false",
        "WRONGTYPE Operation against a key, BAD_REQUEST false",
        "OOM command not allowed when used memory > 'maxmemory'., SERVICE_UNAVAILABLE true",
        "LOADING Redis is loading the dataset in memory, SERVICE_UNAVAILABLE true",
        "READONLY You can't write against a read only replica., SERVICE_UNAVAILABLE true",
        "MISCONF Errors writing to the AOF file, SERVICE_UNAVAILABLE true",
        "ERR something else, ERROR true",
    })
    void theServersFirstWordDecides(String message, String expected) {
        assertEquals(expected + " false", new RedisDB().classify(new JedisDataException(message)).toString());
    }

    @Test
    void aLostConnectionIsAnErrorAndBroken() {
        assertEquals("ERROR true true", new RedisDB().classify(new JedisConnectionException("gone")).toString());
        assertEquals("ERROR true true", new RedisDB().classify(new ClassCastException("odd reply")).toString());
    }

    @Test
    void aWorkloadThatScansNeedsTheIndex() {
        DB db = new RedisDB();
        Properties properties = new Properties();
        properties.setProperty("scanproportion", "0.95");
        db.setProperties(properties);
        DBException refused = assertThrows(DBException.class, db::init);
        assertEquals("this workload scans, and Redis has no ordered keys: set redis.index=true", refused.getMessage());
    }

    @Test
    void aWaitLongerThanTheConnectionsPatienceIsRefused() {
        BenchsiteDB db = new RedisDB();
        Properties properties = new Properties();
        properties.setProperty("redis.wait.replicas", "1");
        properties.setProperty("redis.wait.timeout_ms", "10000");
        db.setProperties(properties);
        DBException refused = assertThrows(DBException.class, db::init);
        assertEquals("redis.timeout_ms must be longer than redis.wait.timeout_ms", refused.getMessage());
    }
}
