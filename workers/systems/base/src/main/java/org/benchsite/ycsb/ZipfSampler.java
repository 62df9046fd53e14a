package org.benchsite.ycsb;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Ranks from 0 whose probability is proportional to {@code (rank + 1)^-exponent}, for any exponent above 0.
 *
 * <p>Rejection inversion (Hörmann and Derflinger, Rejection-inversion to generate variates from monotone discrete
 * distributions, 1996): an integral that lies above the bars is inverted, and the rank of the bar is taken unless the
 * point lies beside it. The time does not depend on the number of ranks, which may change with each call.
 */
final class ZipfSampler {
    /** Below it, a series takes the place of a quotient of two numbers near 0. */
    private static final double SMALL = 1e-8;

    private final double exponent;
    private final double lowest;
    private final double sure;

    ZipfSampler(double exponent) {
        this.exponent = exponent;
        lowest = integral(1.5) - 1;
        sure = 2 - inverse(integral(2.5) - Math.pow(2, -exponent));
    }

    /** A rank below {@code count}. */
    long sample(long count) {
        double highest = integral(count + 0.5);
        while (true) {
            double area = highest + ThreadLocalRandom.current().nextDouble() * (lowest - highest);
            double x = inverse(area);
            long bar = Math.min(Math.max(Math.round(x), 1), count);
            if (bar - x <= sure || area >= integral(bar + 0.5) - Math.pow(bar, -exponent)) {
                return bar - 1;
            }
        }
    }

    /** The integral of {@code t^-exponent} from 1 to x. */
    private double integral(double x) {
        double log = Math.log(x);
        double power = (1 - exponent) * log;
        return Math.abs(power) < SMALL ? log * (1 + power / 2) : Math.expm1(power) / (1 - exponent);
    }

    private double inverse(double area) {
        double power = Math.max((1 - exponent) * area, -1);
        double log = Math.abs(power) < SMALL ? area * (1 - power / 2) : Math.log1p(power) / (1 - exponent);
        return Math.exp(log);
    }
}
