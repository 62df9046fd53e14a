package org.benchsite.postgresql;

import org.benchsite.ycsb.Failure;
import site.ycsb.Status;

/** What the five letters of an SQLSTATE (PostgreSQL manual, appendix A) mean for a benchmark. */
final class SqlState {
    static Failure classify(String state, String message) {
        String known = state == null ? "" : state;
        if (known.equals("23505")) {
            return Failure.alreadyThere(message);
        }
        if (known.startsWith("57P") || known.equals("25006")) {
            // Shutting down, starting up, or a standby that takes no writes.
            return Failure.passing(Status.SERVICE_UNAVAILABLE, message);
        }
        switch (known.length() < 2 ? "" : known.substring(0, 2)) {
            case "08":
                return Failure.broken(message);
            case "53":
                return Failure.passing(Status.SERVICE_UNAVAILABLE, message);
            case "28":
                return Failure.lasting(Status.FORBIDDEN, message);
            case "42":
                return Failure.lasting(known.equals("42501") ? Status.FORBIDDEN : Status.BAD_REQUEST, message);
            case "22":
            case "23":
                return Failure.lasting(Status.BAD_REQUEST, message);
            default:
                return Failure.passing(Status.ERROR, message);
        }
    }

    private SqlState() {
    }
}
