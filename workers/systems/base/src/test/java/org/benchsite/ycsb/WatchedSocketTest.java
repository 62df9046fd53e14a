package org.benchsite.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.Properties;

import org.junit.jupiter.api.Test;

class WatchedSocketTest {
    private static final int TIMEOUT_MS = 200;

    private static Socket connected(ServerSocket server) throws Exception {
        Settings settings = new Settings(Tls.properties("redis"), new Properties());
        return WatchedSocket.connect(
            server.getInetAddress().getHostAddress(), server.getLocalPort(), TIMEOUT_MS, settings, "redis");
    }

    private static ServerSocket server() throws IOException {
        return new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    }

    @Test
    void aReadThatWaitsTooLongTimesOut() throws Exception {
        try (ServerSocket server = server(); Socket socket = connected(server); Socket peer = server.accept()) {
            peer.getOutputStream().write('a');
            assertEquals('a', socket.getInputStream().read());
            long begun = System.nanoTime();
            assertThrows(SocketTimeoutException.class, () -> socket.getInputStream().read());
            long waitedMs = (System.nanoTime() - begun) / 1_000_000;
            assertTrue(waitedMs >= TIMEOUT_MS && waitedMs < 20 * TIMEOUT_MS, waitedMs + " ms");
            assertTrue(socket.isClosed());
        }
    }

    @Test
    void aConnectionWithoutAReadIsLeftAlone() throws Exception {
        try (ServerSocket server = server(); Socket socket = connected(server); Socket peer = server.accept()) {
            Thread.sleep(2 * TIMEOUT_MS);
            peer.getOutputStream().write(new byte[] {1, 2, 3});
            assertEquals(3, socket.getInputStream().readNBytes(3).length);
            peer.shutdownOutput();
            assertEquals(-1, socket.getInputStream().read());
        }
    }

    @Test
    void aConnectionThatIsClosedMeanwhileHasNotTimedOut() throws Exception {
        try (ServerSocket server = server()) {
            Socket socket = connected(server);
            socket.close();
            SocketException thrown = assertThrows(SocketException.class, () -> socket.getInputStream().read());
            assertTrue(thrown.getMessage().contains("losed"), thrown.getMessage());
        }
    }

    @Test
    void aPortThatNobodyListensOnIsRefused() throws Exception {
        ServerSocket server = server();
        server.close();
        assertThrows(IOException.class, () -> connected(server));
    }
}
