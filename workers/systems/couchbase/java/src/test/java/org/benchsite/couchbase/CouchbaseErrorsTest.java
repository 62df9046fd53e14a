package org.benchsite.couchbase;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.stream.Stream;

import com.couchbase.client.core.error.AmbiguousTimeoutException;
import com.couchbase.client.core.error.AuthenticationFailureException;
import com.couchbase.client.core.error.DocumentExistsException;
import com.couchbase.client.core.error.DurabilityAmbiguousException;
import com.couchbase.client.core.error.DurabilityImpossibleException;
import com.couchbase.client.core.error.FeatureNotAvailableException;
import com.couchbase.client.core.error.InvalidArgumentException;
import com.couchbase.client.core.error.ReplicaNotConfiguredException;
import com.couchbase.client.core.error.RequestCanceledException;
import com.couchbase.client.core.error.TemporaryFailureException;
import com.couchbase.client.core.error.UnambiguousTimeoutException;
import com.couchbase.client.core.msg.CancellationReason;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class CouchbaseErrorsTest {
    /** status, worth another attempt, connection broken or outcome unknown */
    static Stream<Arguments> failures() {
        return Stream.of(
            Arguments.of(new DocumentExistsException(null), "BAD_REQUEST false false"),
            Arguments.of(new AmbiguousTimeoutException("late", null), "ERROR true true"),
            Arguments.of(new UnambiguousTimeoutException("late", null), "ERROR true false"),
            Arguments.of(new DurabilityAmbiguousException(null), "ERROR true true"),
            Arguments.of(new RequestCanceledException("gone", CancellationReason.SHUTDOWN, null), "ERROR true true"),
            Arguments.of(new AuthenticationFailureException("who", null, null), "FORBIDDEN false false"),
            Arguments.of(new FeatureNotAvailableException("levels"), "BAD_REQUEST false false"),
            Arguments.of(new ReplicaNotConfiguredException("none"), "BAD_REQUEST false false"),
            Arguments.of(new InvalidArgumentException("key", null, null), "BAD_REQUEST false false"),
            Arguments.of(new IllegalArgumentException("17 fields"), "BAD_REQUEST false false"),
            Arguments.of(new DurabilityImpossibleException(null), "SERVICE_UNAVAILABLE true false"),
            Arguments.of(new TemporaryFailureException(null), "SERVICE_UNAVAILABLE true false"),
            Arguments.of(new IOException("other"), "ERROR true false"));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void theClassOfTheExceptionDecides(Exception thrown, String expected) {
        assertEquals(expected, new CouchbaseDB().classify(thrown).toString());
    }
}
