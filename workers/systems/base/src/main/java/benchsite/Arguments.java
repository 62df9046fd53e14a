package benchsite;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Properties;

import org.benchsite.ycsb.PacedWorkload;

/**
 * YCSB's own command line, read as YCSB reads it, but complaining.
 *
 * <p>YCSB prints its usage and exits with 0 when it does not understand an argument or cannot read a file.
 */
final class Arguments {
    static final String CORE_WORKLOAD = "site.ycsb.workloads.CoreWorkload";

    private final Properties files = new Properties();
    private final Properties given = new Properties();

    /** Throws IllegalArgumentException, whose message says what is wrong. */
    static Properties parse(String[] args) {
        Arguments arguments = new Arguments();
        for (int i = 0; i < args.length; i++) {
            i += arguments.take(args[i], i + 1 < args.length ? args[i + 1] : null);
        }
        Properties merged = new Properties();
        merged.putAll(arguments.files);
        merged.putAll(arguments.given);
        check(merged);
        return merged;
    }

    /** Takes one option; returns how many further words it used. */
    private int take(String option, String value) {
        switch (option) {
            case "-t":
                given.setProperty("dotransactions", "true");
                return 0;
            case "-load":
                given.setProperty("dotransactions", "false");
                return 0;
            case "-s":
                given.setProperty("status", "true");
                return 0;
            default:
                if (value == null) {
                    throw new IllegalArgumentException("the argument " + option + " is unknown or has no value");
                }
                takeWithValue(option, value);
                return 1;
        }
    }

    private void takeWithValue(String option, String value) {
        switch (option) {
            case "-threads":
                given.setProperty("threadcount", value);
                break;
            case "-target":
                given.setProperty("target", value);
                break;
            case "-db":
                given.setProperty("db", value);
                break;
            case "-l":
                given.setProperty("label", value);
                break;
            case "-P":
                read(Path.of(value));
                break;
            case "-p":
                int equals = value.indexOf('=');
                if (equals < 0) {
                    throw new IllegalArgumentException("-p needs name=value");
                }
                given.setProperty(value.substring(0, equals), value.substring(equals + 1));
                break;
            default:
                throw new IllegalArgumentException("the argument " + option + " is unknown");
        }
    }

    private void read(Path file) {
        Properties read = new Properties();
        try (InputStream stream = Files.newInputStream(file)) {
            read.load(stream);
        } catch (NoSuchFileException e) {
            throw new IllegalArgumentException("the property file " + file + " does not exist", e);
        } catch (IOException e) {
            throw new IllegalArgumentException("the property file " + file + " cannot be read: " + e.getMessage(), e);
        }
        files.putAll(read);
    }

    private static void check(Properties merged) {
        if (merged.getProperty("db") == null) {
            throw new IllegalArgumentException("no binding is named: give -db and its class");
        }
        if (merged.getProperty("workload") == null) {
            throw new IllegalArgumentException("the property workload is missing, " + CORE_WORKLOAD + " for instance");
        }
        int threads = whole(merged, "threadcount", "1");
        if (threads < 1) {
            throw new IllegalArgumentException("threadcount must be 1 or more, not " + threads);
        }
        whole(merged, "target", "0");
        whole(merged, "maxexecutiontime", "0");
        whole(merged, WarmUp.PROPERTY, "0");
        whole(merged, PacedWorkload.WINDOW_START, "0");
        boolean transactions = Boolean.parseBoolean(merged.getProperty("dotransactions", "true"));
        if (transactions && whole(merged, "operationcount", "0") < 1) {
            throw new IllegalArgumentException("operationcount must be set: at 0 YCSB 0.17.0 starts no threads at all");
        }
    }

    private static int whole(Properties merged, String name, String fallback) {
        String value = merged.getProperty(name, fallback);
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(name + " must be a whole number, not \"" + value + "\"", e);
        }
    }

    private Arguments() {
    }
}
