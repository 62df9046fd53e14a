package org.benchsite.ycsb;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** Microseconds since 1970 that never go back within a process. */
final class Clock {
    private static final long NS_PER_US = 1_000;
    private static final int LOOKS = 20;
    private static final long EPOCH_OFFSET_US = findEpochOffset();

    static long epochMicros() {
        return epochMicros(System.nanoTime());
    }

    /** At an instant of System.nanoTime. */
    static long epochMicros(long nanoTime) {
        return EPOCH_OFFSET_US + nanoTime / NS_PER_US;
    }

    /** What System.nanoTime is, or was, then. */
    static long nanoTime(long epochMicros) {
        return (epochMicros - EPOCH_OFFSET_US) * NS_PER_US;
    }

    /** Of some looks at both clocks the quickest: a thread may have to wait for a core between the two. */
    private static long findEpochOffset() {
        long quickestNs = Long.MAX_VALUE;
        long offsetUs = 0;
        for (int i = 0; i < LOOKS; i++) {
            long beforeNs = System.nanoTime();
            long epochUs = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
            long tookNs = System.nanoTime() - beforeNs;
            if (tookNs < quickestNs) {
                quickestNs = tookNs;
                offsetUs = epochUs - (beforeNs + tookNs / 2) / NS_PER_US;
            }
        }
        return offsetUs;
    }

    private Clock() {
    }
}
