package org.benchsite.postgresql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.benchsite.ycsb.JdbcDB;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import site.ycsb.DBException;

class PostgresqlErrorsTest {
    /** status, worth another attempt, connection broken */
    @ParameterizedTest
    @CsvSource({
        "08006, ERROR true true",
        "08001, ERROR true true",
        "53300, SERVICE_UNAVAILABLE true false",
        "57P01, SERVICE_UNAVAILABLE true false",
        "57P03, SERVICE_UNAVAILABLE true false",
        "25006, SERVICE_UNAVAILABLE true false",
        "28P01, FORBIDDEN false false",
        "42501, FORBIDDEN false false",
        "42P01, BAD_REQUEST false false",
        "22001, BAD_REQUEST false false",
        "23505, BAD_REQUEST false false",
        "40001, ERROR true false",
        "XX000, ERROR true false",
        "'', ERROR true false",
    })
    void theStateDecides(String state, String expected) {
        assertEquals(expected, SqlState.classify(state, "text").toString());
    }

    @Test
    void anErrorWithoutStateIsAnError() {
        assertEquals("ERROR true false", SqlState.classify(null, "text").toString());
    }

    @ParameterizedTest
    @CsvSource({"require, '', trust", "require, PEM, verify-ca", "prefer, PEM, trust", "verify-full, '', verify-ca"})
    void aStatedAuthorityIsAsked(String ssl, String ca, String expected) {
        assertEquals(expected, PostgresqlDB.tls(ssl, ca));
    }

    @Test
    void theUrlIsMadeOfParts() throws DBException {
        String url = JdbcDB.url("postgresql", "db-1.example", 5433, "y c&sb?");
        assertEquals("jdbc:postgresql://db-1.example:5433/y+c%26sb%3F", url);
        assertEquals("jdbc:postgresql://[::1]:5432/ycsb", JdbcDB.url("postgresql", "::1", 5432, "ycsb"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"host/db?ssl=true", "a,b", "a b", "", "h?x", "user@host"})
    void aHostCannotAddToTheUrl(String host) {
        DBException refused = assertThrows(DBException.class, () -> JdbcDB.url("postgresql", host, 1, "d"));
        assertTrue(refused.getMessage().contains("host name"));
    }
}
