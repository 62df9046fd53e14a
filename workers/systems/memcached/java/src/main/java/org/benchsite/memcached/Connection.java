package org.benchsite.memcached;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;

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
    private final ByteArrayOutputStream request = new ByteArrayOutputStream(BUFFER_BYTES);
    private final byte[] buffer = new byte[BUFFER_BYTES];
    private final Socket socket;
    private final InputStream in;
    private int position;
    private int limit;

    private Connection(Socket socket) throws IOException {
        this.socket = socket;
        this.in = socket.getInputStream();
    }

    /** Connects, encrypts and authenticates as the binding's properties say. */
    static Connection open(String host, Settings settings) throws IOException, GeneralSecurityException {
        int timeoutMs = settings.whole("memcached.timeout_ms");
        Socket plain = new Socket();
        try {
            plain.connect(new InetSocketAddress(host, settings.whole("memcached.port")), timeoutMs);
            plain.setTcpNoDelay(true);
            plain.setSoTimeout(timeoutMs);
            Connection connection = new Connection(
                Tls.isEnabled(settings, "memcached") ? encrypted(plain, host, settings) : plain);
            connection.authenticate(settings.text("memcached.user"), settings.text("memcached.password"));
            return connection;
        } catch (IOException | GeneralSecurityException | RuntimeException e) {
            plain.close();
            throw e;
        }
    }

    private static Socket encrypted(Socket plain, String host, Settings settings)
        throws IOException, GeneralSecurityException {
        SSLSocket socket = (SSLSocket) Tls.context(settings, "memcached").getSocketFactory()
            .createSocket(plain, host, plain.getPort(), true);
        if (Tls.checksHost(settings, "memcached")) {
            SSLParameters parameters = socket.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            socket.setSSLParameters(parameters);
        }
        socket.startHandshake();
        return socket;
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
        add(text.getBytes(ISO_8859_1));
        add('\r', '\n');
        send();
        return line();
    }

    /** Sends these commands in one piece. Answers the line of each. */
    String[] commands(String verb, List<String> keys) throws IOException {
        for (String key : keys) {
            add((verb + " " + key + "\r\n").getBytes(ISO_8859_1));
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
        add(verb.getBytes(ISO_8859_1));
        add(' ');
        add(key);
        add('\r', '\n');
        send();
        String header = line();
        if (header.equals("END")) {
            return null;
        }
        String[] words = header.split(" ");
        if (!words[0].equals("VALUE")) {
            throw new Refused(header);
        }
        byte[] value = bytes(Integer.parseInt(words[3]));
        String end = line();
        if (!end.isEmpty() || !line().equals("END")) {
            throw new IOException("the server's answer to " + verb + " cannot be read");
        }
        return new Item(value, words.length > 4 ? words[4] : "");
    }

    /** set, add, replace or cas; `cas` is the item's version, "noreply", or empty. Answers the server's line. */
    String store(String verb, byte[] key, byte[] value, String cas) throws IOException {
        add(verb.getBytes(ISO_8859_1));
        add(' ');
        add(key);
        add((" 0 0 " + value.length + (cas.isEmpty() ? "" : " " + cas) + "\r\n").getBytes(ISO_8859_1));
        add(value);
        add('\r', '\n');
        send();
        return cas.equals("noreply") ? "STORED" : line();
    }

    /** Sends a command that the server does not answer. */
    void sendOnly(String text) throws IOException {
        add(text.getBytes(ISO_8859_1));
        add('\r', '\n');
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
        request.write(bytes, 0, bytes.length);
    }

    private void add(int... characters) {
        for (int character : characters) {
            request.write(character);
        }
    }

    private void send() throws IOException {
        request.writeTo(socket.getOutputStream());
        request.reset();
    }

    private String line() throws IOException {
        StringBuilder text = null;
        while (true) {
            for (int i = position; i < limit; i++) {
                if (buffer[i] == '\n') {
                    int end = i > position && buffer[i - 1] == '\r' ? i - 1 : i;
                    String part = new String(buffer, position, end - position, ISO_8859_1);
                    position = i + 1;
                    return text == null ? part : (text + part).replaceAll("\r$", "");
                }
            }
            text = (text == null ? new StringBuilder() : text)
                .append(new String(buffer, position, limit - position, ISO_8859_1));
            fill();
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

    private void fill() throws IOException {
        position = 0;
        limit = in.read(buffer);
        if (limit < 0) {
            limit = 0;
            throw new EOFException("the server closed the connection");
        }
    }
}
