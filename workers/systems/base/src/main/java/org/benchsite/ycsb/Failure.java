package org.benchsite.ycsb;

import site.ycsb.Status;

/** Why one attempt at an operation failed, in the terms that decide what happens next. */
public final class Failure {
    final Status status;
    final String message;
    final boolean broken;
    final boolean passing;
    final boolean alreadyThere;

    private Failure(Status status, String message, boolean broken, boolean passing, boolean alreadyThere) {
        this.status = status;
        this.message = message;
        this.broken = broken;
        this.passing = passing;
        this.alreadyThere = alreadyThere;
    }

    /** The connection is of no more use; whether the server did the operation is unknown. */
    public static Failure broken(String message) {
        return new Failure(Status.ERROR, message, true, true, false);
    }

    /** The server answered with an error that another attempt may not meet. */
    public static Failure passing(Status status, String message) {
        return new Failure(status, message, false, true, false);
    }

    /** The server answered with an error that every further attempt would meet too. */
    public static Failure lasting(Status status, String message) {
        return new Failure(status, message, false, false, false);
    }

    /** The key to be inserted is there already. */
    public static Failure alreadyThere(String message) {
        return new Failure(Status.BAD_REQUEST, message, false, false, true);
    }

    /** "ERROR true false": the status, whether another attempt may help, whether the connection is broken. */
    @Override
    public String toString() {
        return status.getName() + " " + passing + " " + broken;
    }

    /** One line for people: what the exception says, and what its causes add to that. */
    public static String describe(Throwable thrown) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = thrown; each != null; each = each.getCause()) {
            append(text, each);
            // Drivers that try several addresses put the reason of each beside the exception, not below it.
            for (Throwable suppressed : each.getSuppressed()) {
                append(text, suppressed);
            }
        }
        return text.toString().replaceAll("\\s*[\\r\\n]+\\s*", " ");
    }

    private static void append(StringBuilder text, Throwable thrown) {
        String message = thrown.getMessage() == null ? thrown.getClass().getSimpleName() : thrown.getMessage().trim();
        if (text.indexOf(message) < 0) {
            text.append(text.length() == 0 ? "" : ": ").append(message);
        }
    }
}
