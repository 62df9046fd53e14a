package org.benchsite.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;

import org.junit.jupiter.api.Test;

class ArrivalScheduleTest {
    private static final Profile STEADY = Profile.parse("", 0);

    private static double[] arrivals(ArrivalSchedule schedule, int count) {
        double[] due = new double[count];
        for (int i = 0; i < count; i++) {
            schedule.advance();
            due[i] = schedule.dueS();
        }
        return due;
    }

    @Test
    void clientsWithEqualGapsComeInTurn() {
        double[] first = arrivals(new ArrivalSchedule(100, false, 0, 1, STEADY), 3);
        double[] second = arrivals(new ArrivalSchedule(100, false, 0.5, 1, STEADY), 3);
        assertEquals(0, first[0], 1e-12);
        assertEquals(0.005, second[0], 1e-12);
        assertEquals(0.01, first[1], 1e-12);
    }

    @Test
    void poissonGapsHaveMeanAndDeviationOne() {
        ArrivalSchedule schedule = new ArrivalSchedule(1000, true, 0, 7, STEADY);
        double sum = 0;
        double squares = 0;
        int count = 100_000;
        for (int i = 0; i < count; i++) {
            schedule.advance();
            sum += schedule.gap();
            squares += schedule.gap() * schedule.gap();
        }
        double mean = sum / count;
        assertEquals(1, mean, 0.02);
        assertEquals(1, Math.sqrt(squares / count - mean * mean), 0.02);
    }

    @Test
    void profileIsFollowedToTheLastOperation() {
        // 0 to 100 % in 10 s, then 100 %: 500 operations in the first 10 s, 100 in each second after them.
        double[] due = arrivals(new ArrivalSchedule(100, false, 0, 1, Profile.parse("0:0,10:100", 0)), 700);
        assertEquals(125, Arrays.stream(due).filter(second -> second < 5).count(), 1);
        assertEquals(500, Arrays.stream(due).filter(second -> second < 10).count(), 1);
        assertEquals(600, Arrays.stream(due).filter(second -> second < 11).count(), 1);
    }

    @Test
    void warmUpBeforeARampFromNothingIsOfferedAllOfTheRate() {
        double[] due = arrivals(new ArrivalSchedule(10, false, 0, 1, Profile.parse("0:0,2:100", 3)), 41);
        assertEquals(2.9, due[29], 1e-9);
        assertEquals(5, due[40], 1e-6);
    }

    @Test
    void profileBeginsWithTheWindow() {
        double[] due = arrivals(new ArrivalSchedule(10, false, 0, 1, Profile.parse("0:100,1:200", 3)), 60);
        assertEquals(30, Arrays.stream(due).filter(second -> second < 3).count(), 1);
        assertEquals(45, Arrays.stream(due).filter(second -> second < 4).count(), 1);
    }

    @Test
    void nothingArrivesWhereTheRateIsZero() {
        Profile profile = Profile.parse("0:100,1:100,1.001:0,2:0,2.001:100,3:100,3.001:0", 0);
        double[] due = arrivals(new ArrivalSchedule(100, false, 0, 1, profile), 300);
        assertTrue(Arrays.stream(due).noneMatch(second -> second > 1.01 && second < 1.99));
        assertEquals(200, Arrays.stream(due).filter(second -> second < 4).count(), 2);
        assertTrue(Double.isInfinite(due[299]));
    }

    @Test
    void clientsBeginTogetherOrWholePeriodsLater() {
        long ms = 1_000_000;
        assertEquals(250 * ms, OpenWorkload.untilBegin(0, 252 * ms));
        assertEquals(1, OpenWorkload.untilBegin(250 * ms - 1, 252 * ms));
        assertEquals(0, OpenWorkload.untilBegin(250 * ms, 252 * ms));
        assertEquals(202 * ms, OpenWorkload.untilBegin(300 * ms, 252 * ms));
        assertEquals(250 * ms + 4 * 252 * ms - 1200 * ms, OpenWorkload.untilBegin(1200 * ms, 252 * ms));
    }
}
