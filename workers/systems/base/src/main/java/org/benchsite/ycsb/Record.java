package org.benchsite.ycsb;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;

/**
 * A record as one value of a key-value store: a version byte, then for each field the length of its name (one byte), its
 * name, the length of its value (four bytes, most significant first) and its value.
 */
public final class Record {
    private static final byte FORMAT = 1;
    private static final VarHandle INTEGERS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);

    private Record() {
    }

    public static byte[] encode(Map<String, byte[]> fields) {
        int length = 1;
        for (Map.Entry<String, byte[]> field : fields.entrySet()) {
            if (field.getKey().length() > 255) {
                throw new IllegalArgumentException("the name of a field must have at most 255 characters");
            }
            length += 1 + field.getKey().length() + Integer.BYTES + field.getValue().length;
        }
        ByteBuffer record = ByteBuffer.allocate(length).put(FORMAT);
        for (Map.Entry<String, byte[]> field : fields.entrySet()) {
            byte[] name = field.getKey().getBytes(ISO_8859_1);
            record.put((byte) name.length).put(name).putInt(field.getValue().length).put(field.getValue());
        }
        return record.array();
    }

    /** The record with these fields changed; it may be `value` itself, changed in its place. */
    public static byte[] merge(byte[] value, Map<String, byte[]> changes) {
        int[] kept = {0};
        visit(value, (name, position, length) -> {
            byte[] change = changes.get(name);
            if (change != null && change.length == length) {
                System.arraycopy(change, 0, value, position, length);
                kept[0]++;
            }
        });
        if (kept[0] == changes.size()) {
            return value;
        }
        Map<String, byte[]> fields = new LinkedHashMap<>();
        visit(value, (name, position, length) -> fields.put(name, Arrays.copyOfRange(value, position, position + length)));
        fields.putAll(changes);
        return encode(fields);
    }

    /** Puts the fields, or those that are named, into `result`. Throws an IllegalArgumentException for other values. */
    public static void read(byte[] value, Set<String> names, Map<String, ByteIterator> result) {
        visit(value, (name, position, length) -> {
            if (names == null || names.contains(name)) {
                result.put(name, new ByteArrayByteIterator(value, position, length));
            }
        });
    }

    /** A field's name, and where its value is. */
    private interface Visitor {
        void visit(String name, int position, int length);
    }

    private static void visit(byte[] value, Visitor visitor) {
        try {
            if (value[0] != FORMAT) {
                throw new IllegalArgumentException("the value is no record of Benchsite's client");
            }
            int next = 1;
            while (next < value.length) {
                int length = value[next++] & 0xff;
                String name = FieldNames.decode(value, next, length);
                next += length;
                int bytes = (int) INTEGERS.get(value, next);
                next += Integer.BYTES;
                visitor.visit(name, Objects.checkFromIndexSize(next, bytes, value.length), bytes);
                next += bytes;
            }
        } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
            throw new IllegalArgumentException("the value is no record of Benchsite's client", e);
        }
    }
}
