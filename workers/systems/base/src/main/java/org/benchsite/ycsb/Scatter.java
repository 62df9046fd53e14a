package org.benchsite.ycsb;

/** Puts each number below a count into a place of its own, and neighbours far apart. */
final class Scatter {
    private static final double GOLDEN_SECTION = (Math.sqrt(5) - 1) / 2;

    private final long count;
    private final long step;

    /** {@code count} below 2^31. */
    Scatter(long count) {
        this.count = count;
        long candidate = Math.max((long) (count * GOLDEN_SECTION), 1);
        while (divisor(candidate, count) > 1) {
            candidate++;
        }
        step = candidate;
    }

    long apply(long number) {
        return number * step % count;
    }

    private static long divisor(long a, long b) {
        return b == 0 ? a : divisor(b, a % b);
    }
}
