package org.benchsite.ycsb;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

import site.ycsb.Status;

/**
 * What went wrong in this process, over all threads: the first errors in full on stderr, all of them counted.
 *
 * <p>YCSB counts failed operations but says nothing of their reasons. A dead server fails thousands of operations a
 * second, so that only the first {@value #SHOWN} distinct errors are printed when they happen.
 */
public final class Ledger {
    static final int SHOWN = 20;
    private static final int LONGEST = 300;

    private final Map<String, LongAdder> errors = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> codes = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> retries = new ConcurrentHashMap<>();
    private final Map<String, Boolean> seen = new ConcurrentHashMap<>();
    private final AtomicInteger shown = new AtomicInteger();
    private final LongAdder reconnections = new LongAdder();

    /** The one ledger of this process. */
    public static final Ledger SHARED = new Ledger();

    void failed(Operation operation, Status status, String message) {
        count(errors, operation + " " + status.getName());
        if (shown.get() >= SHOWN) {
            return;
        }
        String line = operation + " " + status.getName() + " " + shorten(message);
        // Keys and ports differ from one error to the next; errors that differ in nothing else are one error.
        if (seen.putIfAbsent(line.replaceAll("\\d+", "#"), true) == null && shown.incrementAndGet() <= SHOWN) {
            System.err.println("BENCHSITE ERROR " + line);
        }
    }

    /** A failed operation has this code of the server; none: it failed without an answer. */
    void answered(Operation operation, Status status, String code) {
        if (!code.isEmpty()) {
            count(codes, operation + " " + status.getName() + " " + code);
        }
    }

    void retried(Operation operation) {
        count(retries, operation.name());
    }

    void reconnected() {
        reconnections.increment();
    }

    /** Begins the counts anew, after a warm-up. */
    public void clear() {
        errors.clear();
        codes.clear();
        retries.clear();
        reconnections.reset();
    }

    /** The totals, one line each, on stderr; nothing where nothing went wrong. */
    public void report() {
        new TreeMap<>(errors).forEach((what, n) -> System.err.println("BENCHSITE ERRORS " + what + " " + n.sum()));
        new TreeMap<>(codes).forEach((what, n) -> System.err.println("BENCHSITE CODES " + what + " " + n.sum()));
        new TreeMap<>(retries).forEach((what, n) -> System.err.println("BENCHSITE RETRIES " + what + " " + n.sum()));
        if (reconnections.sum() > 0) {
            System.err.println("BENCHSITE RECONNECTIONS " + reconnections.sum());
        }
    }

    private static void count(Map<String, LongAdder> counters, String key) {
        counters.computeIfAbsent(key, unused -> new LongAdder()).increment();
    }

    private static String shorten(String message) {
        return message.length() <= LONGEST ? message : message.substring(0, LONGEST) + "...";
    }
}
