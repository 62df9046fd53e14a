package org.benchsite.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;

import org.junit.jupiter.api.Test;

class FailureTest {
    @Test
    void theCauseIsNamedBehindTheMessageInOneLine() {
        IOException cause = new IOException("Connection refused");
        Exception thrown = new IllegalStateException("Failed to connect\n  to it", cause);
        assertEquals("Failed to connect to it: Connection refused", Failure.describe(thrown));
    }

    @Test
    void whatStandsInTheMessageAlreadyIsNotRepeated() {
        assertEquals("java.io.IOException: gone", Failure.describe(new IllegalStateException(new IOException("gone"))));
    }

    @Test
    void aReasonBesideTheExceptionIsNamedToo() {
        Exception thrown = new IllegalStateException("Failed to connect");
        thrown.addSuppressed(new IOException("Connection refused"));
        assertEquals("Failed to connect: Connection refused", Failure.describe(thrown));
    }

    @Test
    void anExceptionWithoutMessageIsNamedByItsKind() {
        assertEquals("IOException", Failure.describe(new IOException()));
    }
}
