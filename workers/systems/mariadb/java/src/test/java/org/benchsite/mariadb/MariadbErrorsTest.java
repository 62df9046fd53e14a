package org.benchsite.mariadb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MariadbErrorsTest {
    /** status, worth another attempt, connection broken */
    @ParameterizedTest
    @CsvSource({
        "0, 08S01, ERROR true true",
        "1040, 08004, SERVICE_UNAVAILABLE true false",
        "1044, 42000, FORBIDDEN false false",
        "1045, 28000, FORBIDDEN false false",
        "1062, 23000, BAD_REQUEST false false",
        "1146, 42S02, BAD_REQUEST false false",
        "1205, HY000, ERROR true false",
        "1213, 40001, ERROR true false",
        "1290, HY000, SERVICE_UNAVAILABLE true false",
        "1406, 22001, BAD_REQUEST false false",
        "0, '', ERROR true false",
    })
    void theNumberDecidesThenTheState(int number, String state, String expected) {
        assertEquals(expected, MariadbDB.classify(number, state, "text").toString());
    }
}
