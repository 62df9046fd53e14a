package org.benchsite.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.WatchedSocket;

/** A connection of one thread to one server, by the text protocol of memcached (doc/protocol.txt of its sources). */
final class Connection implements Closeable {
    private static final int BUFFER_BYTES = 16_384;

    /** What the server answered instead of what belongs to the command. */
    static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Refused(String line) {
            super(line);
        }
    }

    /** The item under a key. */
    static final class Item {
        final byte[] value;
        final String cas;

        private Item(byte[] value, String cas) {
            this.value = value;
            this.cas = cas;
        }
    }

    /** The request that is being written. */
    private byte[] request = new byte[BUFFER_BYTES];
    private int requestBytes;
    private byte[] buffer = new byte[BUFFER_BYTES];
    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;
    private int position;
    private int limit;

    private Connection(Socket socket) throws IOException {
        this.socket = socket;
        this.in = socket.getInputStream();
        this.out = socket.getOutputStream();
    }

    /** Connects, encrypts and authenticates as the binding's properties say. */
    static Connection open(String host, Settings settings) throws IOException, GeneralSecurityException {
        Socket socket = WatchedSocket.connect(
            host, settings.whole("memcached.port"), settings.whole("memcached.timeout_ms"), settings, "memcached");
        try {
            Connection connection = new Connection(socket);
            connection.authenticate(settings.text("memcached.user"), settings.text("memcached.password"));
            return connection;
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    /** A server that asks for it takes the first item of a connection as user and password; others would store it. */
    private void authenticate(String user, String password) throws IOException {
        if (password.isEmpty()) {
            // A server that asks for a password refuses every command.
            version();
            return;
        }
        byte[] secret = (user + " " + password).getBytes(ISO_8859_1);
        String answer = store("set", "benchsite:auth".getBytes(ISO_8859_1), secret, "");
        if (!answer.equals("STORED")) {
            throw new Refused(answer);
        }
        if (stats("settings").getOrDefault("auth_enabled_ascii", "no").equals("no")) {
            command("delete benchsite:auth");
            throw new Refused("CLIENT_ERROR the server asks for no password: leave memcached.password empty");
        }
    }

    String version() throws IOException {
        String line = command("version");
        if (!line.startsWith("VERSION ")) {
            throw new Refused(line);
        }
        return line.substring("VERSION ".length());
    }

    /** Sends one command and reads the line that answers it. */
    String command(String text) throws IOException {
        add(text);
        add("\r\n");
        send();
        return line();
    }

    /** Sends these commands in one piece. Answers the line of each. */
    String[] commands(String verb, List<String> keys) throws IOException {
        for (String key : keys) {
            add(verb);
            add(" ");
            add(key);
            add("\r\n");
        }
        send();
        String[] lines = new String[keys.size()];
        for (int i = 0; i < lines.length; i++) {
            lines[i] = line();
        }
        return lines;
    }

    /** The item, with its version where `verb` is gets; null where there is none. */
    Item get(String verb, byte[] key) throws IOException {
        add(verb);
        add(" ");
        add(key);
        add("\r\n");
        send();
        // VALUE key flags bytes [cas]
        String header = line();
        if (header.equals("END")) {
            return null;
        }
        if (!header.startsWith("VALUE ")) {
            throw new Refused(header);
        }
        int start = header.indexOf(' ', "VALUE ".length() + key.length + 1) + 1;
        int blank = header.indexOf(' ', start);
        int end = blank < 0 ? header.length() : blank;
        byte[] value = bytes(Integer.parseInt(header, start, end, 10));
        if (!line().isEmpty() || !line().equals("END")) {
            throw new IOException("the server's answer to " + verb + " cannot be read");
        }
        return new Item(value, blank < 0 ? "" : header.substring(blank + 1));
    }

    /** set, add, replace or cas; `cas` is the item's version, "noreply", or empty. Answers the server's line. */
    String store(String verb, byte[] key, byte[] value, String cas) throws IOException {
        add(verb);
        add(" ");
        add(key);
        add(" 0 0 ");
        add(Integer.toString(value.length));
        if (!cas.isEmpty()) {
            add(" ");
            add(cas);
        }
        add("\r\n");
        add(value);
        add("\r\n");
        send();
        return cas.equals("noreply") ? "STORED" : line();
    }

    /** Sends a command that the server does not answer. */
    void sendOnly(String text) throws IOException {
        add(text);
        add("\r\n");
        send();
    }

    Map<String, String> stats(String kind) throws IOException {
        Map<String, String> stats = new LinkedHashMap<>();
        for (String line = command("stats " + kind); !line.equals("END"); line = line()) {
            String[] words = line.split(" ", 3);
            if (!words[0].equals("STAT")) {
                throw new Refused(line);
            }
            stats.put(words[1], words.length > 2 ? words[2] : "");
        }
        return stats;
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // A broken connection cannot be closed in order, and nothing is lost with it.
        }
    }

    private void add(byte[] bytes) {
        reserve(bytes.length);
        System.arraycopy(bytes, 0, request, requestBytes, bytes.length);
        requestBytes += bytes.length;
    }

    private void add(String text) {
        reserve(text.length());
        for (int i = 0; i < text.length(); i++) {
            request[requestBytes++] = (byte) text.charAt(i);
        }
    }

    private void reserve(int bytes) {
        if (requestBytes + bytes > request.length) {
            request = Arrays.copyOf(request, Math.max(2 * request.length, requestBytes + bytes));
        }
    }

    private void send() throws IOException {
        int length = requestBytes;
        requestBytes = 0;
        out.write(request, 0, length);
    }

    /** The next line as a text. */
    private String line() throws IOException {
        int start = position;
        while (true) {
            for (int i = start; i < limit; i++) {
                if (buffer[i] == '\n') {
                    int end = i > position && buffer[i - 1] == '\r' ? i - 1 : i;
                    String line = new String(buffer, position, end - position, ISO_8859_1);
                    position = i + 1;
                    return line;
                }
            }
            int read = limit - position;
            fill();
            start = position + read;
        }
    }

    private byte[] bytes(int length) throws IOException {
        byte[] bytes = new byte[length];
        int copied = 0;
        while (copied < length) {
            if (position == limit) {
                fill();
            }
            int part = Math.min(length - copied, limit - position);
            System.arraycopy(buffer, position, bytes, copied, part);
            position += part;
            copied += part;
        }
        return bytes;
    }

    /** Reads behind what is there already. */
    private void fill() throws IOException {
        System.arraycopy(buffer, position, buffer, 0, limit - position);
        limit -= position;
        position = 0;
        if (limit == buffer.length) {
            buffer = Arrays.copyOf(buffer, 2 * limit);
        }
        int read = in.read(buffer, limit, buffer.length - limit);
        if (read < 0) {
            throw new EOFException("the server closed the connection");
        }
        limit += read;
    }
}
