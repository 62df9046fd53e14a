package org.benchsite.couchbase;

import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.LinkedHashMap;
import java.util.Map;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Statistics of a bucket on one node, which the SDK has no call for: memcached's binary protocol (Couchbase's
 * kv_engine, docs/BinaryProtocol.md), with SASL PLAIN.
 */
final class KeyValueNode implements Closeable {
    private static final int REQUEST = 0x80;
    private static final int VERSION = 0x0b;
    private static final int STAT = 0x10;
    private static final int SASL_AUTH = 0x21;
    private static final int SELECT_BUCKET = 0x89;
    private static final int MAX_BODY = 1 << 20;

    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;

    /** `socket` is not connected yet. */
    KeyValueNode(Socket socket, String host, int port, int timeoutMs) throws IOException {
        this.socket = socket;
        socket.connect(new InetSocketAddress(host, port), timeoutMs);
        socket.setSoTimeout(timeoutMs);
        in = new DataInputStream(socket.getInputStream());
        out = new DataOutputStream(socket.getOutputStream());
    }

    void authenticate(String user, String password) throws IOException {
        send(SASL_AUTH, "PLAIN", "\0" + user + "\0" + password);
        receive("log in as " + user);
    }

    void select(String bucket) throws IOException {
        send(SELECT_BUCKET, bucket, "");
        receive("select bucket " + bucket);
    }

    String version() throws IOException {
        send(VERSION, "", "");
        return receive("read the version")[1];
    }

    Map<String, String> statistics() throws IOException {
        send(STAT, "", "");
        Map<String, String> statistics = new LinkedHashMap<>();
        for (String[] pair = receive("read statistics"); !pair[0].isEmpty(); pair = receive("read statistics")) {
            statistics.put(pair[0], pair[1]);
        }
        return statistics;
    }

    private void send(int opcode, String key, String value) throws IOException {
        byte[] keyBytes = key.getBytes(UTF_8);
        byte[] valueBytes = value.getBytes(UTF_8);
        out.writeByte(REQUEST);
        out.writeByte(opcode);
        out.writeShort(keyBytes.length);
        out.writeInt(0);  // no extras, plain data, vBucket 0
        out.writeInt(keyBytes.length + valueBytes.length);
        out.writeInt(0);  // opaque
        out.writeLong(0);  // CAS
        out.write(keyBytes);
        out.write(valueBytes);
        out.flush();
    }

    /** Key and value of one answer. Throws an IOException that names `purpose` where the node refuses. */
    private String[] receive(String purpose) throws IOException {
        in.readShort();
        int keyLength = in.readUnsignedShort();
        int extrasLength = in.readUnsignedByte();
        in.readByte();
        int status = in.readUnsignedShort();
        int length = in.readInt();
        in.readLong();
        in.readInt();
        if (length < 0 || length > MAX_BODY || extrasLength + keyLength > length) {
            throw new IOException(socket.getInetAddress() + " does not speak Couchbase's key-value protocol");
        }
        byte[] body = new byte[length];
        in.readFully(body);
        if (status != 0) {
            throw new IOException(socket.getInetAddress() + " refuses to " + purpose + " (status 0x"
                + Integer.toHexString(status) + ")");
        }
        int valueAt = extrasLength + keyLength;
        return new String[] {
            new String(body, extrasLength, keyLength, UTF_8), new String(body, valueAt, length - valueAt, UTF_8)};
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
