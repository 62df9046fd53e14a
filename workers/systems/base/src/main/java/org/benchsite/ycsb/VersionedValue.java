package org.benchsite.ycsb;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32;

/**
 * Field values that say which write they come from and whether they are whole: 16 hexadecimal digits of the write's
 * version, 8 of the CRC-32 of the key, the version and the rest, then the rest as YCSB made it.
 */
final class VersionedValue {
    /** Also the shortest value. */
    static final int HEADER_BYTES = 24;
    private static final int VERSION_BYTES = 16;
    private static final int BITS_PER_DIGIT = 4;
    private static final byte[] DIGITS = "0123456789abcdef".getBytes(ISO_8859_1);
    // Versions of different processes differ, as their clocks have moved on.
    private static final AtomicLong LAST = new AtomicLong(Clock.epochMicros() << 10);

    static long nextVersion() {
        return LAST.incrementAndGet();
    }

    /** Writes the header over the beginning of the value. */
    static void stamp(String key, long version, byte[] value) {
        putHexadecimal(version, value, 0, VERSION_BYTES);
        putHexadecimal(checksum(key, value), value, VERSION_BYTES, HEADER_BYTES);
    }

    /** The version of a value as it was read; -1 where it is not a whole value of this key. */
    static long version(String key, byte[] value) {
        if (value.length < HEADER_BYTES) {
            return -1;
        }
        try {
            String header = new String(value, 0, HEADER_BYTES, ISO_8859_1);
            long stated = Long.parseLong(header.substring(VERSION_BYTES), 16);
            return stated == checksum(key, value) ? Long.parseLong(header.substring(0, VERSION_BYTES), 16) : -1;
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    private static long checksum(String key, byte[] value) {
        CRC32 sum = new CRC32();
        sum.update(key.getBytes(ISO_8859_1));
        sum.update(value, 0, VERSION_BYTES);
        sum.update(value, HEADER_BYTES, value.length - HEADER_BYTES);
        return sum.getValue();
    }

    private static void putHexadecimal(long number, byte[] target, int start, int end) {
        long rest = number;
        for (int i = end - 1; i >= start; i--) {
            target[i] = DIGITS[(int) (rest & 15)];
            rest >>>= BITS_PER_DIGIT;
        }
    }

    private VersionedValue() {
    }
}
