package org.benchsite.ycsb;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

/** Strings of the names of fields: the same few come with every record, so that they are made once. */
public final class FieldNames {
    private static final int SIZE = 256;
    // Threads may overwrite each other's entries: each is checked before it is used.
    private static final String[] CACHE = new String[SIZE];

    private FieldNames() {
    }

    /** The text of these bytes in ISO 8859-1. */
    public static String decode(byte[] bytes, int start, int length) {
        int hash = 0;
        for (int i = start; i < start + length; i++) {
            hash = 31 * hash + bytes[i];
        }
        int slot = hash & (SIZE - 1);
        String name = CACHE[slot];
        if (name == null || !isEqual(name, bytes, start, length)) {
            name = new String(bytes, start, length, ISO_8859_1);
            CACHE[slot] = name;
        }
        return name;
    }

    private static boolean isEqual(String name, byte[] bytes, int start, int length) {
        if (name.length() != length) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (name.charAt(i) != (bytes[start + i] & 0xff)) {
                return false;
            }
        }
        return true;
    }
}
