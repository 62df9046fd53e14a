package org.benchsite.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import site.ycsb.generator.AcknowledgedCounterGenerator;

class InsertedRecordsTest {
    private static final int LOADED = 100;

    private static InsertedRecords client(int number, int clients) {
        return new InsertedRecords(new AcknowledgedCounterGenerator(LOADED), LOADED, LOADED, number, clients);
    }

    @Test
    void everySoManyThKeyIsOfOneClient() {
        InsertedRecords records = client(1, 3);
        assertEquals(101, records.next());
        assertEquals(104, records.next());
        assertEquals(100, records.count());
        records.end(104, true);
        assertEquals(100, records.count(), "an earlier insert has not ended");
        records.end(101, true);
        assertEquals(102, records.count());
        assertEquals(99, records.keyAt(99));
        assertEquals(101, records.keyAt(100));
        assertEquals(104, records.keyAt(101));
    }

    @Test
    void failedInsertsAreNotAskedFor() {
        InsertedRecords records = client(0, 2);
        records.end(records.next(), false);
        assertEquals(99, records.keyAt(100), "the newest loaded record stands in");
        records.end(records.next(), true);
        records.end(records.next(), false);
        assertEquals(102, records.keyAt(102));
        assertEquals(-1, records.keyInSlot(100));
        assertEquals(102, records.keyInSlot(101));
        assertEquals(-1, records.keyInSlot(103));
    }

    @Test
    void deletesTakeTheOldestInsert() {
        InsertedRecords records = client(0, 1);
        assertEquals(-1, records.takeOldest());
        records.end(records.next(), true);
        records.end(records.next(), false);
        records.end(records.next(), true);
        assertEquals(100, records.takeOldest());
        assertEquals(102, records.count());
        assertEquals(99, records.keyAt(100));
        assertEquals(102, records.keyAt(101));
        assertEquals(-1, records.keyInSlot(100));
        assertEquals(102, records.takeOldest());
        assertEquals(-1, records.takeOldest());
        assertEquals(100, records.count());
    }

    @Test
    void insertsBeginBehindADataSetThatHasGrown() {
        InsertedRecords records =
            new InsertedRecords(new AcknowledgedCounterGenerator(LOADED), LOADED, 500, 0, 1);
        records.end(records.next(), true);
        assertEquals(99, records.keyAt(99));
        assertEquals(500, records.keyAt(100));
    }
}
