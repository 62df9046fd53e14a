package org.benchsite.ycsb;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import site.ycsb.Status;

/**
 * The ledger of one thread: every write that the database acknowledged, in a file outside the database's storage.
 *
 * <p>A line is "KEY VERSION SENT ACKNOWLEDGED": the version of the values ({@link VersionedValue}; 0 for a delete) and
 * both instants in microseconds since 1970. Lines wait in memory and are written together; all are in the file when the
 * thread or the process ended in order. The file is the system property {@value #PROPERTY}: it is no property of YCSB,
 * because a client's user does not choose where a load generator writes.
 */
public final class AcknowledgedWrites {
    public static final String PROPERTY = "benchsite.ledger";
    private static final int BUFFER_BYTES = 64 * 1024;
    private static final int MAX_NUMBERS_BYTES = 64;
    private static final int RADIX = 10;
    private static final Set<AcknowledgedWrites> OPEN = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> OPEN.forEach(AcknowledgedWrites::flush)));
    }

    private final byte[] buffer = new byte[BUFFER_BYTES];
    private final byte[] digits = new byte[MAX_NUMBERS_BYTES];
    private final OutputStream file;
    private int length;

    private AcknowledgedWrites(String path) throws IOException {
        file = new FileOutputStream(path, true);
        OPEN.add(this);
    }

    /** The ledger of a new thread; null where the process keeps none. */
    static AcknowledgedWrites open() throws IOException {
        String path = System.getProperty(PROPERTY, "");
        return path.isEmpty() ? null : new AcknowledgedWrites(path);
    }

    /** Makes the values those of a new version. Throws OperationFailed where one is too short to hold it. */
    static long stamp(String key, Map<String, byte[]> values) throws OperationFailed {
        long version = VersionedValue.nextVersion();
        for (byte[] value : values.values()) {
            if (value.length < VersionedValue.HEADER_BYTES) {
                throw new OperationFailed(Failure.lasting(Status.BAD_REQUEST,
                    "a ledger needs fields of " + VersionedValue.HEADER_BYTES + " bytes or more"));
            }
            VersionedValue.stamp(key, version, value);
        }
        return version;
    }

    /** Notes a write that was acknowledged at this moment. */
    synchronized void add(String key, long version, long sentMicros) {
        byte[] name = key.getBytes(ISO_8859_1);
        if (length + name.length + MAX_NUMBERS_BYTES > BUFFER_BYTES) {
            flush();
        }
        System.arraycopy(name, 0, buffer, length, name.length);
        length += name.length;
        append(' ', version);
        append(' ', sentMicros);
        append(' ', Clock.epochMicros());
        buffer[length++] = '\n';
    }

    private void append(char separator, long number) {
        buffer[length++] = (byte) separator;
        int start = digits.length;
        long rest = number;
        do {
            digits[--start] = (byte) ('0' + rest % RADIX);
            rest /= RADIX;
        } while (rest > 0);
        System.arraycopy(digits, start, buffer, length, digits.length - start);
        length += digits.length - start;
    }

    /** Whole lines go to the file in one write, so those of several threads do not mix. */
    private synchronized void flush() {
        try {
            file.write(buffer, 0, length);
            length = 0;
        } catch (IOException e) {
            // A ledger with gaps would call writes lost that are not.
            System.err.println("BENCHSITE FAILED the ledger cannot be written: " + Failure.describe(e));
            Runtime.getRuntime().halt(1);
        }
    }

    void close() {
        flush();
        OPEN.remove(this);
        try {
            file.close();
        } catch (IOException e) {
            System.err.println("the ledger cannot be closed: " + Failure.describe(e));
        }
    }
}
