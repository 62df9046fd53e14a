import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import de.bwaldvogel.mongo.MongoBackend;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoMessage;

/**
 * mongo-java-server, which keeps documents in memory and ignores write concerns. Prints its port, and ends with its
 * stdin. Its journal is stated as that of mongod is, and does not exist.
 *
 * <p>With the states of members as arguments, one shard each ("PRIMARY,SECONDARY,ARBITER"), it is a mongos: the
 * documents are its own, and each shard is a further server that answers what the primary of such a set does. Where one
 * has no primary, reads of primaries fail as behind mongos. With "RESTRICTED", its user may not list collections.
 */
public final class MongoStandIn {
    private static final Document NO_PRIMARY = new Document("ok", 0.0).append("code", 133)
        .append("errmsg", "no member matches the read preference");
    private static final Document JOURNAL = new Document("journalCommitInterval", 100).append("ok", 1.0);

    public static void main(String[] args) throws Exception {
        Map<String, Document> answers = Map.of("getParameter", JOURNAL);
        if (List.of(args).equals(List.of("RESTRICTED"))) {
            Document refusal = new Document("ok", 0.0).append("code", 13).append("errmsg", "not authorized");
            answers = Map.of("listCollections", refusal);
        } else if (args.length > 0) {
            List<Document> shards = new ArrayList<>();
            for (String states : args) {
                String host = "rs" + shards.size() + "/127.0.0.1:" + serve(shard(states.split(",")), true);
                shards.add(new Document("_id", "rs" + shards.size()).append("host", host));
            }
            Document done = new Document("ok", 1.0);
            answers = Map.of("listShards", new Document("shards", shards).append("ok", 1.0),
                "hello", new Document("msg", "isdbgrid").append("ok", 1.0),
                "enableSharding", done, "shardCollection", done);
        }
        boolean hasPrimaries = Stream.of(args).allMatch(states -> states.matches("RESTRICTED|.*PRIMARY.*"));
        System.out.println("READY " + serve(answers, hasPrimaries));
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }

    private static Map<String, Document> shard(String[] states) {
        List<Document> members = new ArrayList<>();
        for (String state : states) {
            members.add(new Document("_id", members.size()).append("stateStr", state));
        }
        Document cache = new Document("pages requested from the cache", 1000).append("pages read into cache", 300);
        Document config = new Document("writeConcernMajorityJournalDefault", true);
        return Map.of("getParameter", JOURNAL,
            "replSetGetStatus", new Document("members", members).append("ok", 1.0),
            "serverStatus", new Document("wiredTiger", new Document("cache", cache)).append("ok", 1.0),
            "replSetGetConfig", new Document("config", config).append("ok", 1.0));
    }

    /** Serves with these answers by the names of commands; its port. */
    private static int serve(Map<String, Document> answers, boolean hasPrimaries) {
        MongoBackend memory = new MemoryBackend();
        MongoBackend stating = (MongoBackend) Proxy.newProxyInstance(
            MongoBackend.class.getClassLoader(), new Class<?>[] {MongoBackend.class}, (proxy, method, arguments) -> {
                Document message = new Document("", null);
                if (method.getName().equals("handleMessage")) {
                    message = ((MongoMessage) arguments[0]).getDocument();
                }
                String command = message.keySet().iterator().next();
                if (!hasPrimaries && command.equals("find") && !message.containsKey("$readPreference")) {
                    return NO_PRIMARY;
                }
                if (answers.containsKey(command)) {
                    return answers.get(command);
                }
                try {
                    return method.invoke(memory, arguments);
                } catch (InvocationTargetException e) {
                    throw e.getCause();
                }
            });
        return new MongoServer(stating).bind().getPort();
    }
}
