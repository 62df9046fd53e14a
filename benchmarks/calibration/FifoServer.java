import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.PriorityQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Some servers behind one queue, with the Redis protocol, whose service takes exactly so long.
 *
 * <p>A write is served by the server that is free first, from when it arrives or that server is free. When it ends is
 * computed, and awaited: the servers cost no CPU time that a client would miss. Other commands are answered at once;
 * TALLY with how many writes came since the last one and how many nanoseconds they were to take, with their waiting.
 *
 * <p>{@code java FifoServer.java PORT SERVERS SERVICE_US}
 */
public final class FifoServer {
    private static final byte[] WRITTEN = ":0\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] OK = "+OK\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] PONG = "+PONG\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] EMPTY = "*0\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] HELLO = "*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final long SPIN_NS = 60_000;

    private final PriorityQueue<Long> freeNs = new PriorityQueue<>();
    private final long serviceNs;
    private long writes;
    private long dueNs;

    private FifoServer(int servers, long serviceNs) {
        this.serviceNs = serviceNs;
        for (int i = 0; i < servers; i++) {
            freeNs.add(System.nanoTime());
        }
    }

    public static void main(String[] arguments) throws IOException {
        FifoServer server = new FifoServer(Integer.parseInt(arguments[1]), 1000 * Long.parseLong(arguments[2]));
        try (ServerSocket listener =
                new ServerSocket(Integer.parseInt(arguments[0]), 1000, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket client = listener.accept();
                client.setTcpNoDelay(true);
                new Thread(() -> server.serve(client)).start();
            }
        }
    }

    private synchronized long findEnd(long arrivedNs) {
        long endNs = Math.max(arrivedNs, freeNs.remove()) + serviceNs;
        freeNs.add(endNs);
        writes++;
        dueNs += endNs - arrivedNs;
        return endNs;
    }

    private synchronized byte[] takeTally() {
        String answer = "*2\r\n:" + writes + "\r\n:" + dueNs + "\r\n";
        writes = 0;
        dueNs = 0;
        return answer.getBytes(StandardCharsets.US_ASCII);
    }

    private void serve(Socket client) {
        try (client) {
            InputStream in = new BufferedInputStream(client.getInputStream());
            OutputStream out = client.getOutputStream();
            String name = readCommand(in);
            while (name != null) {
                byte[] answer = OK;
                if (name.equals("HSET") || name.equals("HMSET")) {
                    await(findEnd(System.nanoTime()));
                    answer = WRITTEN;
                } else if (name.equals("TALLY")) {
                    answer = takeTally();
                } else if (name.equals("PING")) {
                    answer = PONG;
                } else if (name.equals("HELLO")) {
                    answer = HELLO;
                } else if (name.equals("HGETALL") || name.equals("HMGET")) {
                    answer = EMPTY;
                }
                out.write(answer);
                name = readCommand(in);
            }
        } catch (IOException e) {
            System.err.println(e);
        }
    }

    private static void await(long endNs) {
        long left = endNs - System.nanoTime();
        while (left > 0) {
            if (left > SPIN_NS) {
                LockSupport.parkNanos(left - SPIN_NS);
            } else {
                Thread.onSpinWait();
            }
            left = endNs - System.nanoTime();
        }
    }

    /** The name of the next command, an array of bulk strings; null at the end. */
    private static String readCommand(InputStream in) throws IOException {
        String head = readLine(in);
        if (head == null) {
            return null;
        }
        String name = "";
        for (int i = 0; i < Integer.parseInt(head.substring(1)); i++) {
            byte[] text = in.readNBytes(Integer.parseInt(readLine(in).substring(1)) + 2);
            if (i == 0) {
                name = new String(text, 0, text.length - 2, StandardCharsets.US_ASCII).toUpperCase();
            }
        }
        return name;
    }

    private static String readLine(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        int next = in.read();
        while (next >= 0 && next != '\n') {
            line.append((char) next);
            next = in.read();
        }
        return next < 0 ? null : line.toString().trim();
    }
}
