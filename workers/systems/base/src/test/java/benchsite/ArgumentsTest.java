package benchsite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArgumentsTest {
    @TempDir
    Path folder;

    private String file(String... lines) throws IOException {
        return Files.write(folder.resolve("w.properties"), java.util.List.of(lines)).toString();
    }

    private static String refusal(String... args) {
        return assertThrows(IllegalArgumentException.class, () -> Arguments.parse(args)).getMessage();
    }

    @Test
    void singlePropertiesWinOverFilesWhereverTheyStand() throws IOException {
        String path = file("workload=w", "threadcount=4", "operationcount=10", "target=5");
        Properties merged = Arguments.parse(
            new String[] {"-t", "-p", "target=7", "-P", path, "-threads", "2", "-db", "c"});
        assertEquals("7", merged.getProperty("target"));
        assertEquals("2", merged.getProperty("threadcount"));
        assertEquals("c", merged.getProperty("db"));
        assertEquals("true", merged.getProperty("dotransactions"));
    }

    @Test
    void whatYcsbWouldPassOverWithExitCodeZeroIsRefused() throws IOException {
        String path = file("workload=w", "operationcount=10");
        assertEquals("the argument -x is unknown", refusal("-x", "1"));
        assertEquals("the argument -threads is unknown or has no value", refusal("-threads"));
        assertEquals("no binding is named: give -db and its class", refusal("-P", path));
        assertTrue(refusal("-P", folder + "/none", "-db", "c").endsWith("none does not exist"));
        assertTrue(refusal("-P", path, "-db", "c", "-threads", "0").contains("threadcount must be 1 or more"));
        assertTrue(refusal("-P", path, "-db", "c", "-p", "threadcount=8 ").contains("not \"8 \""));
        assertTrue(refusal("-db", "c", "-p", "operationcount=1").contains("workload is missing"));
    }

    @Test
    void aRunWithoutOperationCountIsRefusedButALoadIsNot() throws IOException {
        String path = file("workload=w", "maxexecutiontime=5");
        assertTrue(refusal("-t", "-P", path, "-db", "c").contains("operationcount must be set"));
        Properties load = Arguments.parse(new String[] {"-load", "-P", path, "-db", "c"});
        assertEquals("false", load.getProperty("dotransactions"));
    }
}
