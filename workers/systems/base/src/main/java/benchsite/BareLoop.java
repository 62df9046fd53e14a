package benchsite;

import java.util.Properties;

/**
 * The driver of a binding without the binding: one thread's connection, whose calls each make one operation on a record
 * that {@link DriverComparison} has loaded through the binding.
 */
public interface BareLoop {
    /** Connects as the binding does with these properties. */
    void connect(Properties properties) throws Exception;

    /** Reads a whole record. Answers how many fields it has. */
    int read(String key) throws Exception;

    /** Writes one field of a record. */
    void update(String key, String field, byte[] value) throws Exception;

    void close() throws Exception;
}
