package org.benchsite.ycsb;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * How many operations of each kind were due in each second, and what became of them, as a CSV file.
 *
 * <p>Threads count an arrival when they begin it, nearly in the order in which they were due: a second is written when one
 * of the second but one after it comes, and once more where a thread was later than that. Lines are written by a thread of
 * their own: a slow disk delays no arrival.
 */
final class ArrivalCounts {
    private static final String HEADER = "second,operation,offered,started,dropped,gaps,squares\n";
    private static final String END = "";
    private static final long END_TIMEOUT_S = 10;

    private final NavigableMap<Long, Map<String, Row>> rows = new TreeMap<>();
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final Thread writer;
    private long newest;
    private long lastSecond = -1;
    private Map<String, Row> lastRows;

    /** `file` may be null: nothing is written. */
    ArrivalCounts(String file) {
        writer = file == null ? null : new Thread(() -> write(Path.of(file)), "arrival counts");
        if (writer != null) {
            writer.setDaemon(true);
            writer.start();
        }
        lines.add(HEADER);
    }

    /** Of an arrival: its gap is that to the one before, at rate 1. */
    synchronized void add(String operation, long dueNs, boolean isDropped, double gap) {
        long second = Math.floorDiv(Clock.epochMicros(dueNs), 1_000_000L);
        if (second > newest) {
            newest = second;
            endSeconds(second - 1);
        }
        if (second != lastSecond) {
            lastSecond = second;
            lastRows = rows.computeIfAbsent(second, any -> new TreeMap<>());
        }
        Row row = lastRows.computeIfAbsent(operation, any -> new Row());
        row.offered++;
        if (isDropped) {
            row.dropped++;
        } else {
            row.started++;
        }
        row.gaps += gap;
        row.squares += gap * gap;
    }

    /** No more arrivals come. */
    synchronized void end() {
        endSeconds(Long.MAX_VALUE);
        lines.add(END);
        if (writer == null) {
            return;
        }
        try {
            writer.join(TimeUnit.SECONDS.toMillis(END_TIMEOUT_S));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Those before `limit`. */
    private void endSeconds(long limit) {
        Map<Long, Map<String, Row>> ended = rows.headMap(limit);
        StringBuilder text = new StringBuilder();
        ended.forEach((second, operations) -> operations.forEach((operation, row) ->
            text.append(second).append(',').append(measuredName(operation)).append(',').append(row.offered)
                .append(',').append(row.started).append(',').append(row.dropped).append(',').append(row.gaps)
                .append(',').append(row.squares).append('\n')));
        ended.clear();
        if (text.length() > 0) {
            lines.add(text.toString());
        }
    }

    /** As YCSB names the measurement of an operation. */
    private static String measuredName(String operation) {
        return "READMODIFYWRITE".equals(operation) ? "READ-MODIFY-WRITE" : operation;
    }

    private void write(Path file) {
        try (BufferedWriter out = Files.newBufferedWriter(file, StandardCharsets.US_ASCII)) {
            String text = lines.take();
            while (!text.equals(END)) {
                out.write(text);
                out.flush();
                text = lines.take();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the counts of arrivals cannot be written to " + file, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static final class Row {
        private long offered;
        private long started;
        private long dropped;
        private double gaps;
        private double squares;
    }
}
