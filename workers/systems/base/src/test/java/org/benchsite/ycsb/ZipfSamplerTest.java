package org.benchsite.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ZipfSamplerTest {
    private static final int RANKS = 1000;
    private static final int DRAWS = 2_000_000;

    /** The largest distance between both distribution functions is below 1.95 / sqrt(n) in 99.9 % of all samples. */
    @ParameterizedTest
    @ValueSource(doubles = {0.1, 0.6, 0.99, 1, 1.2, 3})
    void ranksHaveTheProbabilitiesOfZipf(double exponent) {
        ZipfSampler sampler = new ZipfSampler(exponent);
        int[] counts = new int[RANKS];
        for (int i = 0; i < DRAWS; i++) {
            counts[(int) sampler.sample(RANKS)]++;
        }
        double total = 0;
        for (int rank = 1; rank <= RANKS; rank++) {
            total += Math.pow(rank, -exponent);
        }
        double drawn = 0;
        double expected = 0;
        for (int rank = 1; rank <= RANKS; rank++) {
            drawn += (double) counts[rank - 1] / DRAWS;
            expected += Math.pow(rank, -exponent) / total;
            assertTrue(Math.abs(drawn - expected) < 2.2 / Math.sqrt(DRAWS), "rank " + rank);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 10, 1 << 20})
    void scatterGivesEachNumberAPlaceOfItsOwn(long count) {
        Scatter scatter = new Scatter(count);
        assertEquals(count,
            java.util.stream.LongStream.range(0, count).map(scatter::apply).filter(place -> place < count).distinct()
                .count());
    }
}
