package org.benchsite.aerospike;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.aerospike.client.AerospikeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AerospikeErrorsTest {
    /** status, worth another attempt, connection broken */
    @ParameterizedTest
    @CsvSource({
        "4, BAD_REQUEST false false",
        "5, BAD_REQUEST false false",
        "8, SERVICE_UNAVAILABLE true false",
        "9, ERROR true false",
        "11, SERVICE_UNAVAILABLE true false",
        "14, SERVICE_UNAVAILABLE true false",
        "18, SERVICE_UNAVAILABLE true false",
        "20, BAD_REQUEST false false",
        "22, BAD_REQUEST false false",
        "25, BAD_REQUEST false false",
        "65, FORBIDDEN false false",
        "81, FORBIDDEN false false",
        "-7, ERROR true false",
        "-8, SERVICE_UNAVAILABLE true false",
    })
    void theResultCodeDecides(int code, String expected) {
        assertEquals(expected, new AerospikeDB().classify(new AerospikeException(code)).toString());
    }

    @Test
    void aWriteInDoubtMayHaveBeenDone() {
        AerospikeException timeout = new AerospikeException(9);
        timeout.setInDoubt(true);
        assertEquals("ERROR true true", new AerospikeDB().classify(timeout).toString());
        assertEquals("ERROR true true",
            new AerospikeDB().classify(new AerospikeException.Connection("reset")).toString());
    }
}
