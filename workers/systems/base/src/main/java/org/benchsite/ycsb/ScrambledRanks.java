package org.benchsite.ycsb;

import site.ycsb.Utils;
import site.ycsb.generator.NumberGenerator;
import site.ycsb.generator.ScrambledZipfianGenerator;
import site.ycsb.generator.ZipfianGenerator;

/**
 * YCSB's zipfian distribution with another constant, which YCSB 0.17.0 does not let choose: popular numbers out of ten
 * thousand million, spread over the keys by their hashes.
 */
final class ScrambledRanks extends NumberGenerator {
    /** Terms of the zeta function that are added one by one; the integral stands for the others. */
    private static final int TERMS = 100_000;

    private final long keys;
    private final ZipfianGenerator ranks;

    ScrambledRanks(long keys, double constant) {
        this.keys = keys;
        this.ranks = new ZipfianGenerator(0, ScrambledZipfianGenerator.ITEM_COUNT, constant,
            zeta(ScrambledZipfianGenerator.ITEM_COUNT + 1, constant));
    }

    @Override
    public Long nextValue() {
        long key = Utils.fnvhash64(ranks.nextValue()) % keys;
        setLastValue(key);
        return key;
    }

    @Override
    public double mean() {
        return keys / 2.0;
    }

    /** The sum of 1 / i^constant for i from 1 to n, by Euler and Maclaurin; exact to a millionth. */
    static double zeta(long n, double constant) {
        double sum = 0;
        for (int i = 1; i <= TERMS; i++) {
            sum += Math.pow(i, -constant);
        }
        double power = 1 - constant;
        return sum + (Math.pow(n, power) - Math.pow(TERMS, power)) / power
            + (Math.pow(n, -constant) - Math.pow(TERMS, -constant)) / 2;
    }
}
