package org.benchsite.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Properties;

import org.junit.jupiter.api.Test;
import site.ycsb.DBException;

class SettingsTest {
    private static final List<Property> DECLARED = List.of(
        Property.text("redis.host", "127.0.0.1"),
        Property.whole("redis.port", 6379, 1, 65_535),
        Property.flag("redis.index", false),
        Property.choice("redis.color", "", "red", "blue"));

    private static Settings settings(String... namesAndValues) throws DBException {
        Properties given = new Properties();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            given.setProperty(namesAndValues[i], namesAndValues[i + 1]);
        }
        return new Settings(DECLARED, given);
    }

    private static String refusal(String... namesAndValues) {
        return assertThrows(DBException.class, () -> settings(namesAndValues)).getMessage();
    }

    @Test
    void valuesAreReadAndAnEmptyOneIsTheDefault() throws DBException {
        Settings settings = settings("redis.host", "db.example", "redis.port", "", "redis.index", "true");
        assertEquals("db.example", settings.text("redis.host"));
        assertEquals(6379, settings.whole("redis.port"));
        assertTrue(settings.flag("redis.index"));
        assertEquals("", settings.text("redis.color"));
    }

    @Test
    void anUnknownNameIsRefusedWithTheNearest() {
        assertEquals("there is no property redis.prot; did you mean redis.port?", refusal("redis.prot", "1"));
    }

    @Test
    void namesOfOthersAreNobodysBusiness() throws DBException {
        assertFalse(settings("recordcount", "5", "jdbc.url", "x", "redis", "y").flag("redis.index"));
    }

    @Test
    void everythingWrongIsNamedAtOnce() {
        String refusal = refusal(
            "redis.port", "70000", "redis.index", "yes", "redis.hots", "x", "redis.color", "green");
        assertEquals("redis.port must lie between 1 and 65535, not be 70000; "
            + "redis.index must be one of true, false, not \"yes\"; "
            + "redis.color must be one of red, blue, not \"green\"; "
            + "there is no property redis.hots; did you mean redis.host?", refusal);
    }

    @Test
    void aNumberWithABlankIsRefused() {
        assertTrue(refusal("redis.port", "6379 ").contains("not \"6379 \""));
    }

    @Test
    void controlCharactersAreRefusedWithoutRepeatingTheValue() {
        String refusal = refusal("redis.host", "secret\u0000word");
        assertEquals("redis.host must not have control characters", refusal);
    }

    @Test
    void distanceCountsSingleLetters() {
        assertEquals(0, Settings.distance("abc", "abc"));
        assertEquals(3, Settings.distance("", "abc"));
        assertEquals(1, Settings.distance("redis.wait.replica", "redis.wait.replicas"));
        assertEquals(3, Settings.distance("kitten", "sitting"));
    }
}
