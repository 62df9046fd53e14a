package org.benchsite.redis;

import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.WatchedSocket;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.JedisClusterCRC16;

/**
 * The connections of one thread: one to a single server, or one to each master of a cluster.
 *
 * <p>In a cluster each node is asked which slots it has itself, so only the given addresses are connected to, whatever
 * addresses the nodes announce. A slot that moves later is an error of the server (MOVED), behind which the thread
 * connects anew.
 */
final class Servers {
    private static final int SLOTS = 16_384;

    private final List<Link> links = new ArrayList<>();
    /** By slot; null for a single server. */
    private final Link[] masters;
    /** Where replies are still to be read, in the order of the commands. */
    private final List<Link> pending = new ArrayList<>();

    /** A connection whose commands can be sent before a reply is read. */
    private static final class Link extends Connection {
        Link(HostAndPort address, Settings settings) {
            super(() -> socket(address, settings), config(settings));
        }

        private static Socket socket(HostAndPort address, Settings settings) {
            try {
                return WatchedSocket.connect(
                    address.getHost(), address.getPort(), settings.whole("redis.timeout_ms"), settings, "redis");
            } catch (GeneralSecurityException | IOException e) {
                throw new JedisConnectionException("Failed to connect to " + address, e);
            }
        }

        private static JedisClientConfig config(Settings settings) {
            String user = settings.text("redis.user");
            String password = settings.text("redis.password");
            return DefaultJedisClientConfig.builder().resp2()
                .user(user.isEmpty() ? null : user).password(password.isEmpty() ? null : password).build();
        }

        void send() {
            flush();
        }
    }

    private Servers(Link[] masters) {
        this.masters = masters;
    }

    /** Connects to a single server. */
    static Servers single(HostAndPort address, Settings settings) {
        Servers servers = new Servers(null);
        servers.links.add(new Link(address, settings));
        try {
            // A server that asks for a password accepts the connection without one and refuses only the first command.
            servers.links.get(0).ping();
            if (settings.whole("redis.database") > 0) {
                servers.links.get(0).select(settings.whole("redis.database"));
            }
        } catch (RuntimeException e) {
            servers.close();
            throw e;
        }
        return servers;
    }

    /** Connects to the masters among these nodes. A node that does not answer is passed over if others have all slots. */
    static Servers cluster(List<HostAndPort> addresses, Settings settings) {
        Servers servers = new Servers(new Link[SLOTS]);
        JedisConnectionException unreachable = null;
        try {
            for (HostAndPort address : addresses) {
                try {
                    servers.join(new Link(address, settings));
                } catch (JedisConnectionException e) {
                    unreachable = e;
                }
            }
            long assigned = Arrays.stream(servers.masters).filter(Objects::nonNull).count();
            if (assigned < SLOTS) {
                throw unreachable != null ? unreachable : new JedisDataException(
                    "CLUSTERDOWN the given nodes have " + assigned + " of " + SLOTS + " slots: give all masters");
            }
        } catch (RuntimeException e) {
            servers.close();
            throw e;
        }
        return servers;
    }

    private void join(Link link) {
        links.add(link);
        link.sendCommand(Command.CLUSTER, "NODES");
        for (int slot : ownSlots(link.getBulkReply())) {
            masters[slot] = link;
        }
    }

    /** The slots of the node that answered CLUSTER NODES; slots that are only about to arrive are none of them. */
    static int[] ownSlots(String nodes) {
        String[] own = nodes.lines().map(line -> line.split(" ")).filter(words -> words[2].contains("myself"))
            .findFirst().orElseThrow();
        return Arrays.stream(own).skip(8).filter(range -> !range.startsWith("["))
            .map(range -> range.split("-"))
            .flatMapToInt(ends -> IntStream.rangeClosed(
                Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1])))
            .toArray();
    }

    /** Sends a command to the server of the key. */
    void send(byte[] key, Command command, byte[]... arguments) {
        Link link = masters == null ? links.get(0) : masters[JedisClusterCRC16.getSlot(key)];
        link.sendCommand(command, arguments);
        pending.add(link);
    }

    /** Sends a command to each server that a reply is awaited from. Answers their number. */
    int sendToPending(Command command, byte[]... arguments) {
        List<Link> servers = pending.stream().distinct().collect(Collectors.toList());
        for (Link link : servers) {
            link.sendCommand(command, arguments);
        }
        pending.addAll(servers);
        return servers.size();
    }

    /** All replies are read before an error among them is raised: an unread one would answer the next operation. */
    List<Object> replies() {
        List<Object> replies = new ArrayList<>(pending.size());
        JedisDataException refused = null;
        try {
            for (Link link : pending) {
                link.send();
            }
            for (Link link : pending) {
                try {
                    replies.add(link.getOne());
                } catch (JedisDataException e) {
                    refused = refused == null ? e : refused;
                }
            }
        } finally {
            pending.clear();
        }
        if (refused != null) {
            throw refused;
        }
        return replies;
    }

    /** Throws nothing: a broken connection cannot be closed in order, and nothing is lost with it. */
    void close() {
        for (Link link : links) {
            try {
                link.close();
            } catch (RuntimeException e) {
                // It is broken.
            }
        }
    }
}
