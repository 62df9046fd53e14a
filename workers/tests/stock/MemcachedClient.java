package site.ycsb.db;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;

import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/** A client of memcached's text protocol with the properties of YCSB's own; one connection for each thread. */
public class MemcachedClient extends DB {
    private Socket socket;
    private InputStream in;
    private OutputStream out;

    @Override
    public void init() throws DBException {
        String hosts = getProperties().getProperty("memcached.hosts");
        if (hosts == null) {
            throw new DBException("memcached.hosts is required");
        }
        String address = hosts.split(",")[0];
        int colon = address.lastIndexOf(':');
        try {
            socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
            socket.setTcpNoDelay(true);
            in = new BufferedInputStream(socket.getInputStream());
            out = new BufferedOutputStream(socket.getOutputStream());
        } catch (IOException e) {
            throw new DBException(e);
        }
    }

    @Override
    public void cleanup() throws DBException {
        try {
            socket.close();
        } catch (IOException e) {
            throw new DBException(e);
        }
    }

    @Override
    public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
        try {
            send("get " + key + "\r\n");
            String header = line();
            if (header.equals("END")) {
                return Status.NOT_FOUND;
            }
            byte[] value = in.readNBytes(Integer.parseInt(header.substring(header.lastIndexOf(' ') + 1)) + 2);
            result.put("value", new StringByteIterator(new String(value, StandardCharsets.ISO_8859_1)));
            return line().equals("END") ? Status.OK : Status.ERROR;
        } catch (IOException e) {
            return Status.ERROR;
        }
    }

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
        StringBuilder text = new StringBuilder();
        new HashMap<>(values).forEach((name, value) -> text.append(name).append('=').append(value).append(' '));
        int length = text.toString().getBytes(StandardCharsets.ISO_8859_1).length;
        try {
            send("set " + key + " 0 0 " + length + "\r\n" + text + "\r\n");
            return line().equals("STORED") ? Status.OK : Status.ERROR;
        } catch (IOException e) {
            return Status.ERROR;
        }
    }

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
        return insert(table, key, values);
    }

    @Override
    public Status delete(String table, String key) {
        return Status.NOT_IMPLEMENTED;
    }

    @Override
    public Status scan(
            String table, String key, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
        return Status.NOT_IMPLEMENTED;
    }

    private void send(String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.ISO_8859_1));
        out.flush();
    }

    private String line() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new IOException("the server closed the connection");
            }
            line.write(next);
        }
        return line.toString(StandardCharsets.ISO_8859_1).trim();
    }
}
