package org.benchsite.ycsb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

import org.junit.jupiter.api.Test;
import site.ycsb.ByteIterator;

class RecordTest {
    @Test
    void aRecordIsReadAsItWasWritten() {
        Map<String, byte[]> fields = new LinkedHashMap<>();
        fields.put("field0", new byte[] {0, 13, 10, -1});
        fields.put("field1", new byte[300]);
        byte[] value = Record.encode(fields);
        Map<String, ByteIterator> result = new HashMap<>();
        Record.read(value, null, result);
        assertEquals(fields.keySet(), result.keySet());
        assertArrayEquals(fields.get("field0"), result.get("field0").toArray());
        result.clear();
        Record.read(value, Set.of("field1"), result);
        assertEquals(Set.of("field1"), result.keySet());
        assertEquals(300, result.get("field1").bytesLeft());
    }

    @Test
    void changedFieldsAreMerged() {
        byte[] value = Record.encode(Map.of("field0", new byte[] {1, 2}));
        for (byte[] change : new byte[][] {{3, 4}, {5}, {}}) {
            value = Record.merge(value, Map.of("field0", change));
            Map<String, ByteIterator> result = new HashMap<>();
            Record.read(value, null, result);
            assertArrayEquals(change, result.get("field0").toArray());
        }
        assertArrayEquals(Record.encode(Map.of("field0", new byte[0])), value);
        value = Record.merge(value, Map.of("field1", new byte[] {7}));
        Map<String, ByteIterator> result = new HashMap<>();
        Record.read(value, null, result);
        assertEquals(Set.of("field0", "field1"), result.keySet());
    }

    @Test
    void aValueOfOthersIsNoRecord() {
        for (byte[] value : new byte[][] {{}, "{\"field0\": 1}".getBytes(), {1, 5, 'a'}, {1, 1, 'a', 127, 0, 0, 0}}) {
            assertThrows(IllegalArgumentException.class, () -> Record.read(value, null, new HashMap<>()));
        }
    }
}
