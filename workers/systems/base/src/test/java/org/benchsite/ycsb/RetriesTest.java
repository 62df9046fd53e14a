package org.benchsite.ycsb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

import org.junit.jupiter.api.Test;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.RandomByteIterator;
import site.ycsb.Status;

class RetriesTest {
    private static final Failure BUSY = Failure.passing(Status.SERVICE_UNAVAILABLE, "busy");
    private static final Failure BROKEN = Failure.broken("connection reset");
    private static final Failure DENIED = Failure.lasting(Status.FORBIDDEN, "no permission");
    private static final Failure DUPLICATE = Failure.alreadyThere("duplicate key");

    private static FaultyDB db(String... namesAndValues) throws DBException {
        Properties properties = new Properties();
        properties.setProperty("benchsite.reconnect.delay_ms", "1");
        for (int i = 0; i < namesAndValues.length; i += 2) {
            properties.setProperty(namesAndValues[i], namesAndValues[i + 1]);
        }
        FaultyDB db = new FaultyDB();
        db.setProperties(properties);
        db.init();
        return db;
    }

    private static Map<String, ByteIterator> row() {
        return new HashMap<>(Map.of("field0", new RandomByteIterator(10)));
    }

    @Test
    void withoutRetriesOneAttemptIsMadeAndItsStatusReturned() throws DBException {
        FaultyDB db = db();
        db.coming.add(BUSY);
        assertEquals(Status.SERVICE_UNAVAILABLE, db.update("t", "k", row()));
        assertEquals(1, db.attempts);
    }

    @Test
    void eachKindOfOperationHasItsOwnNumberOfRetries() throws DBException {
        FaultyDB db = db("benchsite.retries.update", "2");
        db.coming.addAll(java.util.List.of(BUSY, BUSY, BUSY));
        assertEquals(Status.SERVICE_UNAVAILABLE, db.read("t", "k", null, new HashMap<>()));
        assertEquals(Status.OK, db.update("t", "k", row()));
        assertEquals(1 + 3, db.attempts);
    }

    @Test
    void reconnectsWhereThroughputFallsBelowTheTarget() throws Exception {
        FaultyDB slow = db("benchsite.reconnect.below_ops_s", "1000000000");
        FaultyDB fast = db("benchsite.reconnect.below_ops_s", "1");
        FaultyDB off = db();
        long end = System.nanoTime() + 2_500_000_000L;
        while (System.nanoTime() < end) {
            for (FaultyDB db : new FaultyDB[] {slow, off}) {
                assertEquals(Status.OK, db.read("t", "k", null, new HashMap<>()));
            }
        }
        assertTrue(slow.connections >= 2 && slow.connections <= 4, slow.connections + " connections");
        int before = fast.connections;
        end = System.nanoTime() + 2_500_000_000L;
        fast.read("t", "k", null, new HashMap<>());
        int caughtUp = fast.connections;
        while (System.nanoTime() < end) {
            fast.read("t", "k", null, new HashMap<>());
        }
        assertTrue(caughtUp - before <= 1);
        assertEquals(caughtUp, fast.connections);
        assertEquals(1, off.connections);
    }

    @Test
    void everyAttemptWritesTheSameValues() throws DBException {
        FaultyDB db = db("benchsite.retries.insert", "1");
        db.coming.add(BUSY);
        Map<String, ByteIterator> row = row();
        assertEquals(Status.OK, db.insert("t", "k", row));
        assertEquals(10, db.lastValues.get("field0").length);
        assertArrayEquals(new String[] {"field0"}, db.lastValues.keySet().toArray());
    }

    @Test
    void aLastingErrorIsNotTriedAgain() throws DBException {
        FaultyDB db = db("benchsite.retries.delete", "5");
        db.coming.add(DENIED);
        assertEquals(Status.FORBIDDEN, db.delete("t", "k"));
        assertEquals(1, db.attempts);
    }

    @Test
    void whatIsNotThereIsNoErrorToRetry() throws DBException {
        FaultyDB db = db("benchsite.retries.read", "5");
        assertEquals(Status.NOT_FOUND, db.read("t", "missing", null, new HashMap<>()));
        assertEquals(1, db.attempts);
    }

    @Test
    void aBrokenConnectionIsOpenedAgainByTheNextOperation() throws DBException {
        FaultyDB db = db();
        db.coming.add(BROKEN);
        assertEquals(Status.ERROR, db.delete("t", "k"));
        assertEquals(Status.OK, db.delete("t", "k"));
        assertEquals(2, db.connections);
    }

    @Test
    void aServerThatStaysAwayFailsEveryOperation() throws DBException {
        FaultyDB db = db();
        db.coming.add(BROKEN);
        db.delete("t", "k");
        db.connecting.add(new IOException("Connection refused"));
        db.connecting.add(new IOException("Connection refused"));
        assertEquals(Status.ERROR, db.delete("t", "k"));
        assertEquals(Status.ERROR, db.delete("t", "k"));
        assertEquals(Status.OK, db.delete("t", "k"));
        assertEquals(2, db.attempts);
    }

    @Test
    void anInsertThatGotThroughBeforeTheConnectionBrokeIsASuccess() throws DBException {
        FaultyDB db = db("benchsite.retries.insert", "1");
        db.coming.add(BROKEN);
        db.coming.add(DUPLICATE);
        assertEquals(Status.OK, db.insert("t", "k", row()));
    }

    @Test
    void aKeyThatIsThereWithoutAnyDoubtIsAnError() throws DBException {
        FaultyDB db = db("benchsite.retries.insert", "1");
        db.coming.add(BUSY);
        db.coming.add(DUPLICATE);
        assertEquals(Status.BAD_REQUEST, db.insert("t", "k", row()));
    }

    @Test
    void aWrongPropertyKeepsTheBindingFromBeginning() {
        String refusal = assertThrows(DBException.class, () -> db("faulty.hots", "x")).getMessage();
        assertEquals("there is no property faulty.hots; did you mean faulty.host?", refusal);
        assertTrue(assertThrows(DBException.class, () -> db("benchsite.retries.reads", "1")).getMessage()
            .endsWith("did you mean benchsite.retries.read?"));
    }
}
