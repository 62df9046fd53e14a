package org.benchsite.ycsb;

import java.io.PrintStream;

/**
 * Where YCSB prints its status lines, the only ones that it builds. There the intervals of all its measurements end.
 *
 * <p>The first is printed before any operation.
 */
final class StatusLines extends PrintStream {
    private final Runnable onLine;

    /** Takes the place of System.err. */
    static void watch(Runnable onLine) {
        System.setErr(new StatusLines(System.err, onLine));
    }

    private StatusLines(PrintStream out, Runnable onLine) {
        super(out, true);
        this.onLine = onLine;
    }

    @Override
    public void println(Object line) {
        super.println(line);
        if (line instanceof StringBuilder) {
            onLine.run();
        }
    }
}
