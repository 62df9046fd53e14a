package org.benchsite.redis;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Properties;

import org.benchsite.ycsb.BenchsiteDB;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
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

    @Test
    void aNodeOfAClusterHasTheSlotsOfItsOwnLine() {
        String nodes = "07c3 127.0.0.2:7000@17000 master - 0 1 2 connected 5-16383\n"
            + "67ed 127.0.0.1:7000@17000 myself,master - 0 1 1 connected 0-2 4 [5->-07c3] [9-<-07c3]\n";
        assertArrayEquals(new int[] {0, 1, 2, 4}, Servers.ownSlots(nodes));
        assertArrayEquals(new int[0], Servers.ownSlots("67ed :0@0 myself,slave 07c3 0 1 1 connected"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "127.0.0.1:x"})
    void aClusterNeedsThePortOfEachMaster(String nodes) {
        DB db = new RedisDB();
        Properties properties = new Properties();
        properties.setProperty("redis.cluster", "true");
        properties.setProperty("redis.host", nodes);
        db.setProperties(properties);
        DBException refused = assertThrows(DBException.class, db::init);
        assertEquals("redis.host must list host:port of all masters of the cluster: " + nodes, refused.getMessage());
    }
}
