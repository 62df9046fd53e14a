package org.benchsite.ycsb;

import java.util.Locale;

/** The kinds of operation that YCSB asks of a database; each has its own number of retries. */
public enum Operation {
    READ, UPDATE, INSERT, SCAN, DELETE;

    /** The property that says how often a failed operation of this kind is tried again. */
    String retriesProperty() {
        return "benchsite.retries." + name().toLowerCase(Locale.ROOT);
    }
}
