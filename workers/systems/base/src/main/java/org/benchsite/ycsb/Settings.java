package org.benchsite.ycsb;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;

import site.ycsb.DBException;

/**
 * The values of a binding's declared properties.
 *
 * <p>YCSB hands every property of the run to the binding and ignores what nobody asks for, so that a misspelt
 * durability property would silently measure another mode. Here a name that begins like a declared one but is not
 * declared is refused, with the nearest declared name.
 */
public final class Settings {
    private final Map<String, String> values = new LinkedHashMap<>();

    /** Throws a DBException that names every property that is unknown or has a value it cannot have. */
    public Settings(List<Property> declared, Properties given) throws DBException {
        List<String> complaints = new ArrayList<>();
        for (Property property : declared) {
            String value = given.getProperty(property.name, "");
            if (value.isEmpty()) {
                value = property.fallback;
            } else if (property.complaint(value) != null) {
                complaints.add(property.name + " " + property.complaint(value));
            }
            values.put(property.name, value);
        }
        complaints.addAll(unknown(given));
        if (!complaints.isEmpty()) {
            throw new DBException(String.join("; ", complaints));
        }
    }

    public String text(String name) {
        if (!values.containsKey(name)) {
            throw new IllegalArgumentException(name + " is read but not declared");
        }
        return values.get(name);
    }

    public int whole(String name) {
        return Integer.parseInt(text(name));
    }

    public boolean flag(String name) {
        return Boolean.parseBoolean(text(name));
    }

    private List<String> unknown(Properties given) {
        TreeSet<String> families = values.keySet().stream().map(Settings::family)
            .collect(Collectors.toCollection(TreeSet::new));
        List<String> complaints = new ArrayList<>();
        for (String name : new TreeSet<>(given.stringPropertyNames())) {
            if (families.contains(family(name)) && !values.containsKey(name)) {
                complaints.add("there is no property " + name + "; did you mean " + nearest(name) + "?");
            }
        }
        return complaints;
    }

    /** "redis." of "redis.host": the part of a name that makes it a binding's own. */
    private static String family(String name) {
        return name.substring(0, name.indexOf('.') + 1);
    }

    private String nearest(String name) {
        String best = null;
        int least = Integer.MAX_VALUE;
        for (String known : values.keySet()) {
            int distance = distance(name, known);
            if (distance < least) {
                least = distance;
                best = known;
            }
        }
        return best;
    }

    /** How many single letters must be changed, put in or left out to turn one word into the other (Levenshtein). */
    static int distance(String one, String other) {
        int[] row = new int[other.length() + 1];
        for (int j = 0; j < row.length; j++) {
            row[j] = j;
        }
        for (int i = 1; i <= one.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j < row.length; j++) {
                int changed = diagonal + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(changed, Math.min(row[j], row[j - 1]) + 1);
            }
        }
        return row[other.length()];
    }
}
