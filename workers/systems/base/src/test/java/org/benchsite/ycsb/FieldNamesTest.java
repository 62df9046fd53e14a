package org.benchsite.ycsb;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;

class FieldNamesTest {
    private static String decode(String text) {
        byte[] bytes = ("<" + text + ">").getBytes(ISO_8859_1);
        return FieldNames.decode(bytes, 1, bytes.length - 2);
    }

    @Test
    void aNameThatComesAgainIsTheSameString() {
        assertSame(decode("field0"), decode("field0"));
    }

    @Test
    void namesThatShareAnEntryDoNotMix() {
        // Equal in the hash of all strings.
        for (String name : new String[] {"Aa", "BB", "Aa", "", "f\u00e9", "f\u00ff", "field10", "field1"}) {
            assertEquals(name, decode(name));
        }
    }
}
