package org.benchsite.ycsb;

import java.util.List;

/** One declared property of a binding: its name, its default and what its value may be. */
public final class Property {
    public final String name;
    final String fallback;
    private final Check check;

    /** Says what is wrong with a value, or returns null. */
    private interface Check {
        String complaint(String value);
    }

    private Property(String name, String fallback, Check check) {
        this.name = name;
        this.fallback = fallback;
        this.check = check;
    }

    /** Any text without control characters. An empty value is the default. */
    public static Property text(String name, String fallback) {
        // The value may be a password, so the complaint does not repeat it.
        return new Property(name, fallback, value -> value.chars().anyMatch(Character::isISOControl)
            ? "must not have control characters" : null);
    }

    /** A whole number in [least, most]. */
    public static Property whole(String name, long fallback, long least, long most) {
        return new Property(name, Long.toString(fallback), value -> {
            try {
                long number = Long.parseLong(value);
                return least <= number && number <= most ? null
                    : "must lie between " + least + " and " + most + ", not be " + value;
            } catch (NumberFormatException e) {
                return "must be a whole number between " + least + " and " + most + ", not \"" + value + "\"";
            }
        });
    }

    /** true or false, nothing else: "yes" would otherwise silently mean false. */
    public static Property flag(String name, boolean fallback) {
        return choice(name, Boolean.toString(fallback), "true", "false");
    }

    /** One of a few words. */
    public static Property choice(String name, String fallback, String... words) {
        List<String> choices = List.of(words);
        return new Property(name, fallback, value -> choices.contains(value) ? null
            : "must be one of " + String.join(", ", choices) + ", not \"" + value + "\"");
    }

    String complaint(String value) {
        return check.complaint(value);
    }
}
