package org.benchsite.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.SocketTimeoutException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MemcachedErrorsTest {
    /** status, worth another attempt, connection broken */
    @ParameterizedTest
    @CsvSource({
        "CLIENT_ERROR unauthenticated, FORBIDDEN false false",
        "CLIENT_ERROR authentication failure, FORBIDDEN false false",
        "CLIENT_ERROR bad data chunk, BAD_REQUEST false false",
        "ERROR, BAD_REQUEST false false",
        "SERVER_ERROR out of memory storing object, SERVICE_UNAVAILABLE true false",
        "SERVER_ERROR object too large for cache, BAD_REQUEST false false",
    })
    void theLineDecides(String line, String expected) {
        assertEquals(expected, new MemcachedDB().classify(new Connection.Refused(line)).toString());
    }

    @Test
    void aLateAnswerBreaksTheConnection() {
        assertEquals("ERROR true true", new MemcachedDB().classify(new SocketTimeoutException("late")).toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a b", "a\r\nflush_all", "a\u007f"})
    void suchAKeyIsNotSent(String key) {
        assertThrows(IllegalArgumentException.class, () -> Servers.bytes(key));
        assertThrows(IllegalArgumentException.class, () -> Servers.bytes("k".repeat(251)));
    }
}
