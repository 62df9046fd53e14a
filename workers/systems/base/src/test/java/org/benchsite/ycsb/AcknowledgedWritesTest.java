package org.benchsite.ycsb;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

class AcknowledgedWritesTest {
    private static final String VALUE = "v".repeat(100);

    @TempDir
    Path folder;

    @AfterEach
    void keepNoLedger() {
        System.clearProperty(AcknowledgedWrites.PROPERTY);
    }

    private FaultyDB connected() throws DBException {
        System.setProperty(AcknowledgedWrites.PROPERTY, folder.resolve("ledger").toString());
        FaultyDB db = new FaultyDB();
        db.setProperties(new Properties());
        db.init();
        return db;
    }

    private static Map<String, ByteIterator> values(String value) {
        return Map.of("field0", new ByteArrayByteIterator(value.getBytes(ISO_8859_1)));
    }

    private static long versionOf(String key, byte[] value) {
        return BenchsiteDB.versionOf(key, Map.of("field0", new ByteArrayByteIterator(value)));
    }

    @Test
    void notesAcknowledgedWritesOnly() throws Exception {
        FaultyDB db = connected();
        assertEquals(Status.OK, db.insert("t", "user1", values(VALUE)));
        byte[] written = db.lastValues.get("field0");
        db.coming.add(Failure.broken("gone"));
        assertEquals(Status.ERROR, db.update("t", "user2", values(VALUE)));
        assertEquals(Status.OK, db.delete("t", "user1"));
        db.cleanup();

        List<String> lines = Files.readAllLines(folder.resolve("ledger"));
        assertEquals(2, lines.size());
        String[] insert = lines.get(0).split(" ");
        assertEquals("user1", insert[0]);
        assertEquals(versionOf("user1", written), Long.parseLong(insert[1]));
        assertTrue(Long.parseLong(insert[2]) <= Long.parseLong(insert[3]));
        assertTrue(lines.get(1).startsWith("user1 0 "));
    }

    @Test
    void detectsDamagedValues() throws Exception {
        FaultyDB db = connected();
        db.insert("t", "user1", values(VALUE));
        byte[] value = db.lastValues.get("field0");
        assertEquals(100, value.length);
        assertTrue(versionOf("user1", value) > 0);
        assertEquals(-1, versionOf("user2", value));
        value[60]++;
        assertEquals(-1, versionOf("user1", value));
        assertEquals(-1, versionOf("user1", VALUE.getBytes(ISO_8859_1)));
    }

    @Test
    void refusesFieldsWithoutRoomForTheVersion() throws Exception {
        FaultyDB db = connected();
        assertEquals(Status.BAD_REQUEST, db.insert("t", "user1", values("short")));
        assertEquals(0, db.attempts);
    }

    @Test
    void leavesValuesAloneWithoutALedger() throws Exception {
        FaultyDB db = new FaultyDB();
        db.setProperties(new Properties());
        db.init();
        db.insert("t", "user1", values(VALUE));
        assertEquals(VALUE, new String(db.lastValues.get("field0"), ISO_8859_1));
    }
}
