package org.benchsite.ycsb;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * How many operations of each kind were due in each second, and what became of them, as a CSV file.
 *
 * <p>Arrivals come in the order in which they were due, so a second is complete when one of a later second comes. Lines
 * are written by a thread of its own: a slow disk delays no arrival.
 */
final class ArrivalCounts {
    private static final String HEADER = "second,operation,offered,started,dropped,gaps,squares\n";
    private static final String END = "";
    private static final long END_TIMEOUT_S = 10;

    private final Map<String, Row> rows = new TreeMap<>();
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final Thread writer;
    private long epochOffsetUs;
    private long second;

    /** `file` may be null: nothing is written. */
    ArrivalCounts(String file) {
        writer = file == null ? null : new Thread(() -> write(Path.of(file)), "arrival counts");
        if (writer != null) {
            writer.setDaemon(true);
            writer.start();
        }
        lines.add(HEADER);
    }

    /** The first arrival comes after this instant. */
    void begin(long nowNs) {
        epochOffsetUs = Clock.epochMicros() - nowNs / 1000;
    }

    /** Of an arrival: its gap is that to the one before, at rate 1. */
    void add(String operation, long dueNs, boolean isDropped, double gap) {
        long dueSecond = Math.floorDiv(epochOffsetUs + dueNs / 1000, 1_000_000L);
        if (dueSecond != second) {
            endSecond();
            second = dueSecond;
        }
        Row row = rows.computeIfAbsent(operation, name -> new Row());
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
    void end() {
        endSecond();
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

    private void endSecond() {
        StringBuilder text = new StringBuilder();
        rows.forEach((operation, row) -> {
            if (row.offered > 0) {
                text.append(second).append(',').append(measuredName(operation)).append(',').append(row.offered)
                    .append(',').append(row.started).append(',').append(row.dropped).append(',').append(row.gaps)
                    .append(',').append(row.squares).append('\n');
            }
        });
        rows.clear();
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
