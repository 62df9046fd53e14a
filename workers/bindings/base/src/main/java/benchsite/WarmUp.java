package benchsite;

import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;

import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import org.HdrHistogram.Recorder;
import site.ycsb.DBException;
import site.ycsb.RandomByteIterator;
import site.ycsb.generator.ScrambledZipfianGenerator;

/**
 * Loads and exercises, before the agreed instant, what YCSB uses in every operation, so that the first second of a run
 * is not spent on loading and compiling classes. It touches neither the database nor YCSB's own measurements.
 */
final class WarmUp {
    private static final int ROUNDS = 20_000;
    private static final String[] CLASSES = {
        "site.ycsb.Client", "site.ycsb.ClientThread", "site.ycsb.DBFactory", "site.ycsb.DBWrapper",
        "site.ycsb.StatusThread", "site.ycsb.TerminatorThread", "site.ycsb.workloads.CoreWorkload",
        "site.ycsb.generator.AcknowledgedCounterGenerator", "site.ycsb.generator.DiscreteGenerator",
        "site.ycsb.generator.UniformLongGenerator", "site.ycsb.measurements.Measurements",
        "site.ycsb.measurements.OneMeasurementHdrHistogram",
        "site.ycsb.measurements.exporter.TextMeasurementsExporter", "org.apache.htrace.core.Tracer",
    };

    static void run() throws DBException {
        try {
            for (String name : CLASSES) {
                Class.forName(name);
            }
        } catch (ClassNotFoundException | LinkageError e) {
            throw new DBException("YCSB's classes cannot be loaded: " + e, e);
        }
        Recorder recorder = new Recorder(3);
        ScrambledZipfianGenerator keys = new ScrambledZipfianGenerator(ROUNDS);
        for (int i = 0; i < ROUNDS; i++) {
            recorder.recordValue(1 + keys.nextValue() % 1000);
        }
        for (int i = 0; i < ROUNDS / 10; i++) {
            recorder.recordValue(1 + new RandomByteIterator(100).toArray()[i % 100]);
        }
        Histogram interval = recorder.getIntervalHistogram();
        HistogramLogWriter log = new HistogramLogWriter(
            new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
        log.outputIntervalHistogram(interval);
    }

    /** The version of HdrHistogram that really was loaded: a compiled-in constant would always name our own. */
    static String histogramVersion() {
        try {
            Field version = Class.forName("org.HdrHistogram.Version").getDeclaredField("version");
            version.setAccessible(true);
            return (String) version.get(null);
        } catch (ReflectiveOperationException e) {
            return "unknown";
        }
    }

    private WarmUp() {
    }
}
