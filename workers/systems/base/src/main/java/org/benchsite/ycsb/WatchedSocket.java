package org.benchsite.ycsb;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.security.GeneralSecurityException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import javax.net.SocketFactory;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * A connection whose read timeout a thread of the process watches over.
 *
 * <p>With a timeout of its own, a socket of Java makes three system calls of each read: it tries, polls, and reads. This
 * one blocks in a single call, and one that waits too long is closed from outside.
 */
public final class WatchedSocket extends Socket {
    private static final Set<WatchedSocket> OPEN = ConcurrentHashMap.newKeySet();
    private static final long LOOK_NS = 50_000_000;

    static {
        Thread watch = new Thread(WatchedSocket::watch, "read timeouts");
        watch.setDaemon(true);
        watch.start();
    }

    /** Counts the beginnings and ends of reads: odd while one waits. */
    private final AtomicLong reads = new AtomicLong();
    private volatile boolean timedOut;
    private volatile int timeoutMs;
    private InputStream in;
    // Of the watching thread: the read that it saw last, and since when.
    private long seen;
    private long sinceNs;

    /**
     * Connects to the first address of the host that answers, and encrypts where the properties that begin with `binding`
     * ask for it. The timeout holds for connecting, and for each read.
     */
    public static Socket connect(String host, int port, int timeoutMs, Settings settings, String binding)
        throws IOException, GeneralSecurityException {
        IOException unreachable = null;
        for (InetAddress address : InetAddress.getAllByName(host)) {
            WatchedSocket socket = new WatchedSocket();
            try {
                socket.connect(new InetSocketAddress(address, port), timeoutMs);
                socket.setTcpNoDelay(true);
                socket.setSoTimeout(timeoutMs);
            } catch (IOException e) {
                socket.close();
                unreachable = e;
                continue;
            }
            return socket.encryptedOrPlain(host, settings, binding);
        }
        throw unreachable;
    }

    private WatchedSocket() {
    }

    private Socket encryptedOrPlain(String host, Settings settings, String binding)
        throws IOException, GeneralSecurityException {
        if (!Tls.isEnabled(settings, binding)) {
            return this;
        }
        try {
            SSLSocket socket = (SSLSocket) Tls.context(settings, binding).getSocketFactory()
                .createSocket(this, host, getPort(), true);
            if (Tls.checksHost(settings, binding)) {
                SSLParameters parameters = socket.getSSLParameters();
                parameters.setEndpointIdentificationAlgorithm("HTTPS");
                socket.setSSLParameters(parameters);
            }
            socket.startHandshake();
            return socket;
        } catch (IOException | GeneralSecurityException | RuntimeException e) {
            close();
            throw e;
        }
    }

    private static void watch() {
        while (true) {
            LockSupport.parkNanos(LOOK_NS);
            long now = System.nanoTime();
            for (WatchedSocket socket : OPEN) {
                socket.look(now);
            }
        }
    }

    private void look(long nowNs) {
        long current = reads.get();
        if (current != seen) {
            seen = current;
            sinceNs = nowNs;
        } else if (current % 2 == 1 && timeoutMs > 0 && nowNs - sinceNs >= timeoutMs * 1_000_000L) {
            timedOut = true;
            closeQuietly();
        }
    }

    private void closeQuietly() {
        try {
            close();
        } catch (IOException e) {
            // The read ends all the same.
        }
    }

    @Override
    public void connect(SocketAddress address, int timeout) throws IOException {
        super.connect(address, timeout);
        OPEN.add(this);
    }

    @Override
    public void setSoTimeout(int milliseconds) {
        timeoutMs = milliseconds;
    }

    @Override
    public int getSoTimeout() {
        return timeoutMs;
    }

    @Override
    public void close() throws IOException {
        OPEN.remove(this);
        super.close();
    }

    @Override
    public synchronized InputStream getInputStream() throws IOException {
        if (in == null) {
            in = new Reads(super.getInputStream());
        }
        return in;
    }

    private final class Reads extends FilterInputStream {
        Reads(InputStream in) {
            super(in);
        }

        @Override
        public int read() throws IOException {
            byte[] single = new byte[1];
            return read(single, 0, 1) < 0 ? -1 : single[0] & 0xff;
        }

        @Override
        public int read(byte[] buffer, int offset, int length) throws IOException {
            long number = reads.get();
            reads.lazySet(number + 1);
            try {
                return in.read(buffer, offset, length);
            } catch (IOException e) {
                throw timedOut ? new SocketTimeoutException("Read timed out") : e;
            } finally {
                reads.lazySet(number + 2);
            }
        }
    }

    /** For drivers that are told the name of a factory, and connect what it makes. */
    public static final class Factory extends SocketFactory {
        @Override
        public Socket createSocket() {
            return new WatchedSocket();
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            return createSocket(InetAddress.getByName(host), port);
        }

        @Override
        public Socket createSocket(InetAddress host, int port) throws IOException {
            return createSocket(host, port, null, 0);
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress localHost, int localPort) throws IOException {
            return createSocket(InetAddress.getByName(host), port, localHost, localPort);
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress localHost, int localPort)
            throws IOException {
            Socket socket = createSocket();
            socket.bind(new InetSocketAddress(localHost, localPort));
            socket.connect(new InetSocketAddress(host, port));
            return socket;
        }
    }
}
