package org.benchsite.ycsb;

import java.util.SplittableRandom;

/**
 * When operations arrive: a Poisson process, or equal gaps, whose rate follows a profile.
 *
 * <p>Gaps are drawn at rate 1. The inverse of the integral of the rate turns their sum into seconds.
 */
final class ArrivalSchedule {
    private final double rate;
    private final boolean isPoisson;
    private final Profile profile;
    private final SplittableRandom random;
    private double sum;
    private double gap;

    /** `shift` is the first of equal gaps, in [0, 1). */
    ArrivalSchedule(double rate, boolean isPoisson, double shift, long seed, Profile profile) {
        this.rate = rate;
        this.isPoisson = isPoisson;
        this.profile = profile;
        random = new SplittableRandom(seed);
        sum = isPoisson ? 0 : shift - 1;
    }

    void advance() {
        // 1 - U lies in (0, 1].
        gap = isPoisson ? -Math.log(1 - random.nextDouble()) : 1;
        sum += gap;
    }

    /** The last gap, at rate 1. */
    double gap() {
        return gap;
    }

    /** Seconds from the begin until the arrival is due; infinite where none arrives any more. */
    double dueS() {
        return profile.secondOf(sum / rate);
    }
}
