package benchsite;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

import org.benchsite.ycsb.BenchsiteDB;
import org.benchsite.ycsb.BenchsiteWorkload;
import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.IgnoringWorkload;
import org.benchsite.ycsb.Ledger;
import org.benchsite.ycsb.OpenWorkload;
import org.benchsite.ycsb.PacedWorkload;
import site.ycsb.Client;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.TerminatorThread;
import site.ycsb.Workload;

/**
 * Starts a YCSB client so that several of them, on several hosts, begin at one agreed instant.
 *
 * <p>{@code benchsite.Start --ready ARGUMENTS OF YCSB}
 *
 * <ol>
 *   <li>checks the arguments, loads the classes and opens one connection through the binding: a wrong property or a
 *       server that does not answer shows here, as {@code BENCHSITE FAILED reason} on stderr and exit code 3;
 *   <li>where {@code warmup.duration_ms} is given, uses the database for so long, and on until shortly before the
 *       instant;
 *   <li>prints {@code BENCHSITE READY java-version hdrhistogram-version} on stderr;
 *   <li>reads one line from stdin, {@code START epoch-milliseconds}; stdin closed before it ends with exit code 4;
 *   <li>waits for that instant on this host's clock, prints {@code BENCHSITE STARTED epoch-milliseconds} with the
 *       instant at which it really went on, and calls YCSB's own main;
 *   <li>reads another line from stdin, {@code END epoch-milliseconds}: YCSB then ends at that instant as it ends when
 *       its time is up. Without that line it ends when its time is up.
 * </ol>
 *
 * <p>With {@code --check} in place of {@code --ready} it is ready before it connects, so that the time from then on is the
 * server's. Without either it begins at once. {@code benchsite.Start --properties CLASS} prints the names and defaults of a
 * binding's properties and ends.
 */
public final class Start {
    static final int FAILED = 3;
    static final int NOT_STARTED = 4;
    /** A sleep may end this much late, so that the rest is waited for awake. */
    private static final long SPIN_MS = 3;

    private static volatile boolean measuring;

    public static void main(String[] args) throws IOException {
        try {
            if (args.length == 2 && args[0].equals("--properties")) {
                describe(args[1]);
                return;
            }
            boolean isCheck = args.length > 0 && args[0].equals("--check");
            boolean agreed = isCheck || args.length > 0 && args[0].equals("--ready");
            String[] rest = agreed ? Arrays.copyOfRange(args, 1, args.length) : args;
            Properties properties = Arguments.parse(rest);
            endSleepsOnTime();
            WarmUp.run();
            if (!isCheck) {
                connect(properties).cleanup();
            }
            boolean warmsUp = Boolean.parseBoolean(properties.getProperty("dotransactions", "true"));
            WarmUp warmUp = warmsUp ? WarmUp.begin(properties) : null;
            BufferedReader stdin = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
            long instant = agreed ? agreeOnStart(stdin) : System.currentTimeMillis();
            if (warmUp != null) {
                warmUp.endBefore(instant);
            }
            if (agreed) {
                await(instant);
                System.err.println("BENCHSITE STARTED " + System.currentTimeMillis());
                Thread ending = new Thread(() -> endWhenTold(stdin));
                ending.setDaemon(true);
                ending.start();
            }
            Runtime.getRuntime().addShutdownHook(new Thread(Ledger.SHARED::report));
            measuring = true;
            Client.main(withOurWorkload(rest, properties, instant));
        } catch (IllegalArgumentException | DBException e) {
            fail(Failure.describe(e));
        }
    }

    /**
     * Ends the process, with the reason, when a binding's thread cannot begin; does nothing before YCSB's main has been
     * called or in a process that was not started here.
     */
    public static void giveUp(String reason) {
        if (measuring) {
            fail(reason);
        }
    }

    private static void fail(String reason) {
        System.err.println("BENCHSITE FAILED " + reason);
        System.exit(FAILED);
    }

    private static void describe(String className) throws DBException {
        DB db = newBinding(className);
        if (!(db instanceof BenchsiteDB)) {
            throw new IllegalArgumentException(className + " is not a binding of Benchsite");
        }
        ((BenchsiteDB) db).properties().forEach((name, fallback) -> System.out.println(name + "=" + fallback));
    }

    /**
     * Linux lets a sleep end 50 us late, to wake up several threads at once; an operation would begin so much later than it
     * is due. Threads have this from the one that starts them.
     */
    private static void endSleepsOnTime() {
        try {
            Path thread = Path.of("/proc/thread-self").toRealPath().getFileName();
            Files.write(Path.of("/proc").resolve(thread).resolve("timerslack_ns"), new byte[] {'1'});
        } catch (IOException e) {
            // No such setting here: sleeps end as late as they do.
        }
    }

    /** The binding with one open connection. */
    static DB connect(Properties properties) throws DBException {
        DB db = newBinding(properties.getProperty("db"));
        db.setProperties(properties);
        db.init();
        return db;
    }

    private static DB newBinding(String className) throws DBException {
        try {
            return (DB) Class.forName(className).getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError | ClassCastException e) {
            throw new DBException("the binding " + className + " cannot be loaded: " + e, e);
        }
    }

    /** Says that this client is ready, and returns the instant (epoch milliseconds) at which all begin. */
    private static long agreeOnStart(BufferedReader stdin) throws IOException {
        System.err.println("BENCHSITE READY " + System.getProperty("java.version") + " " + WarmUp.histogramVersion());
        String line = stdin.readLine();
        if (line == null) {
            System.exit(NOT_STARTED);
        }
        if (!line.matches("START \\d{1,15}")) {
            throw new IllegalArgumentException("expected START and epoch milliseconds, not \"" + line + "\"");
        }
        return Long.parseLong(line.substring("START ".length()));
    }

    private static void await(long instant) {
        long now = System.currentTimeMillis();
        while (now < instant) {
            if (instant - now > SPIN_MS) {
                LockSupport.parkNanos((instant - now - SPIN_MS) * 1_000_000);
            } else {
                Thread.onSpinWait();
            }
            now = System.currentTimeMillis();
        }
    }

    /** Asks YCSB's workload to stop, as its thread does that ends it when its time is up. */
    private static void endWhenTold(BufferedReader stdin) {
        try {
            String line = stdin.readLine();
            if (line == null || !line.matches("END \\d{1,15}")) {
                return;
            }
            await(Long.parseLong(line.substring("END ".length())));
            for (Thread thread : Thread.getAllStackTraces().keySet()) {
                if (thread instanceof TerminatorThread) {
                    Field workload = TerminatorThread.class.getDeclaredField("workload");
                    workload.setAccessible(true);
                    ((Workload) workload.get(thread)).requestStop();
                }
            }
        } catch (IOException | ReflectiveOperationException e) {
            System.err.println("BENCHSITE cannot end before the time is up: " + e);
        }
    }

    /**
     * YCSB's arguments, with the workload exchanged for one of ours: for arrivals at a rate the one that offers them; for a
     * target with a known window the one that keeps a schedule of its own; for inserts by several clients, other skews and
     * deletes the one that has them; for a load that ignores failed inserts the one that goes on after them.
     */
    private static String[] withOurWorkload(String[] args, Properties properties, long instant) {
        String workload = properties.getProperty("workload");
        if (Boolean.parseBoolean(properties.getProperty("dotransactions", "true"))) {
            if (properties.containsKey(OpenWorkload.RATE)) {
                return with(
                    args, "workload=" + OpenWorkload.class.getName(), OpenWorkload.INSTANT + "=" + instant);
            }
            if (BenchsiteWorkload.isNeeded(properties)) {
                workload = BenchsiteWorkload.class.getName();
            }
            boolean hasTarget = Integer.parseInt(properties.getProperty("target", "0")) > 0;
            return hasTarget && properties.containsKey(PacedWorkload.WINDOW_START)
                ? with(args, PacedWorkload.OPERATIONS + "=" + workload, "workload=" + PacedWorkload.class.getName())
                : with(args, "workload=" + workload);
        }
        if (!Boolean.parseBoolean(properties.getProperty(IgnoringWorkload.PROPERTY))) {
            return args;
        }
        if (!Arguments.CORE_WORKLOAD.equals(workload)) {
            throw new IllegalArgumentException(
                IgnoringWorkload.PROPERTY + " works with " + Arguments.CORE_WORKLOAD + " only");
        }
        return with(args, "workload=" + IgnoringWorkload.class.getName());
    }

    private static String[] with(String[] args, String... properties) {
        Stream<String> more = Arrays.stream(properties).flatMap(property -> Stream.of("-p", property));
        return Stream.concat(Arrays.stream(args), more).toArray(String[]::new);
    }

    private Start() {
    }
}
