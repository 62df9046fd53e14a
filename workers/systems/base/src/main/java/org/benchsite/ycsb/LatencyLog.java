package org.benchsite.ycsb;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Properties;

import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import site.ycsb.WorkloadException;

/**
 * Latencies that stand beside those of operations, in an HDR log as YCSB writes them, but in no summary and status line.
 *
 * <p>Its caller holds a lock while it records and while it ends an interval. That costs a fraction of what YCSB's own
 * measurements do, which threads share without one.
 */
final class LatencyLog {
    private static final int DIGITS = 3;

    private final HistogramLogWriter log;
    private Histogram current = new Histogram(DIGITS);
    private Histogram ended = new Histogram(DIGITS);

    LatencyLog(String name, Properties properties) throws WorkloadException {
        log = Boolean.parseBoolean(properties.getProperty("hdrhistogram.fileoutput"))
            ? open(name, properties.getProperty("hdrhistogram.output.path", ""))
            : null;
    }

    private static HistogramLogWriter open(String name, String path) throws WorkloadException {
        try {
            HistogramLogWriter log = new HistogramLogWriter(
                new PrintStream(new FileOutputStream(path + name + ".hdr"), false, StandardCharsets.US_ASCII));
            long now = System.currentTimeMillis();
            log.outputComment("[Logging for: " + name + "]");
            log.outputLogFormatVersion();
            log.outputStartTime(now);
            log.setBaseTime(now);
            log.outputLegend();
            return log;
        } catch (IOException e) {
            throw new WorkloadException(e);
        }
    }

    void begin() {
        current.setStartTimeStamp(System.currentTimeMillis());
    }

    void record(long microseconds) {
        current.recordValue(microseconds);
    }

    /** What was recorded since the last call is written by `write`. */
    void endInterval() {
        Histogram next = ended;
        long now = System.currentTimeMillis();
        next.reset();
        next.setStartTimeStamp(now);
        current.setEndTimeStamp(now);
        ended = current;
        current = next;
    }

    /** Without the lock. */
    void write() {
        if (log != null && ended.getTotalCount() > 0) {
            log.outputIntervalHistogram(ended);
        }
    }
}
