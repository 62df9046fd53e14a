import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;

import com.couchbase.mock.Bucket;
import com.couchbase.mock.BucketConfiguration;
import com.couchbase.mock.CouchbaseMock;
import com.couchbase.mock.memcached.Item;
import com.couchbase.mock.memcached.MemcachedConnection;
import com.couchbase.mock.memcached.MemcachedServer;
import com.couchbase.mock.memcached.Storage;
import com.couchbase.mock.memcached.protocol.BinaryCommand;
import com.couchbase.mock.memcached.protocol.BinaryStatResponse;
import com.couchbase.mock.memcached.protocol.CommandCode;

/**
 * Couchbase's own mock with the bucket "bench" (password "pass"): {@code CouchbaseMockServer NODES REPLICAS}. Prints the
 * REST port and the nodes' key-value ports, and ends with its stdin.
 *
 * <p>Two things are added to the mock: each node has an address of its own (127.0.0.1, 127.0.0.2, ...), and the
 * statistics have curr_items, as those of the product do.
 */
public final class CouchbaseMockServer {
    public static void main(String[] args) throws Exception {
        BucketConfiguration bench = new BucketConfiguration();
        bench.type = Bucket.BucketType.COUCHBASE;
        bench.name = "bench";
        bench.password = "pass";
        bench.hostname = "*";
        bench.bucketStartPort = 0;
        bench.numNodes = Integer.parseInt(args[0]);
        bench.numReplicas = Integer.parseInt(args[1]);
        bench.numVBuckets = 64;
        CouchbaseMock mock = new CouchbaseMock(0, List.of(bench));
        mock.start();
        mock.waitForStartup();
        StringBuilder ports = new StringBuilder("READY " + mock.getHttpPort());
        int number = 1;
        for (MemcachedServer node : mock.getBuckets().get("bench").getServers()) {
            node.setCccpEnabled(true);
            field("hostname").set(node, "127.0.0." + number++);
            countItems(node);
            ports.append(' ').append(node.getPort());
        }
        System.out.println(ports);
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }

    private static void countItems(MemcachedServer node) throws Exception {
        Object[] executors = (Object[]) field("executors").get(node);
        int stat = CommandCode.STAT.cc();
        Object theirs = executors[stat];
        Class<?> type = executors.getClass().getComponentType();
        Method execute = type.getDeclaredMethods()[0];
        execute.setAccessible(true);
        executors[stat] = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            BinaryCommand command = (BinaryCommand) arguments[0];
            if (command.getKey() == null || command.getKey().isEmpty()) {
                long items = 0;
                for (Item item : node.getStorage().getMasterStore(Storage.StorageType.CACHE)) {
                    items++;
                }
                ((MemcachedConnection) arguments[2]).sendResponse(
                    new BinaryStatResponse(command, "curr_items", Long.toString(items)));
            }
            return execute.invoke(theirs, arguments);
        });
    }

    private static Field field(String name) throws Exception {
        Field field = MemcachedServer.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
