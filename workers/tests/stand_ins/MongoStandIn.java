import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

import de.bwaldvogel.mongo.MongoBackend;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoMessage;

/**
 * mongo-java-server, which keeps documents in memory and ignores write concerns. Prints its port, and ends with its
 * stdin. Its journal is stated as that of mongod is, and does not exist.
 */
public final class MongoStandIn {
    public static void main(String[] args) throws Exception {
        MongoBackend memory = new MemoryBackend();
        MongoBackend stating = (MongoBackend) Proxy.newProxyInstance(
            MongoBackend.class.getClassLoader(), new Class<?>[] {MongoBackend.class}, (proxy, method, arguments) -> {
                if (method.getName().equals("handleMessage")
                    && ((MongoMessage) arguments[0]).getDocument().containsKey("getParameter")) {
                    return new Document("journalCommitInterval", 100).append("ok", 1.0);
                }
                try {
                    return method.invoke(memory, arguments);
                } catch (InvocationTargetException e) {
                    throw e.getCause();
                }
            });
        System.out.println("READY " + new MongoServer(stating).bind().getPort());
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }
}
