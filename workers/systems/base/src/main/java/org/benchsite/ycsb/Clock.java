package org.benchsite.ycsb;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** Microseconds since 1970 that never go back within a process. */
final class Clock {
    private static final long NS_PER_US = 1_000;
    private static final long EPOCH_OFFSET_US =
        ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()) - System.nanoTime() / NS_PER_US;

    static long epochMicros() {
        return EPOCH_OFFSET_US + System.nanoTime() / NS_PER_US;
    }

    private Clock() {
    }
}
