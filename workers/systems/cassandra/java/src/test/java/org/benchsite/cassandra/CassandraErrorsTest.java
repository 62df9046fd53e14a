package org.benchsite.cassandra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;

import com.datastax.oss.driver.api.core.AllNodesFailedException;
import com.datastax.oss.driver.api.core.DefaultConsistencyLevel;
import com.datastax.oss.driver.api.core.DriverTimeoutException;
import com.datastax.oss.driver.api.core.NoNodeAvailableException;
import com.datastax.oss.driver.api.core.connection.ClosedConnectionException;
import com.datastax.oss.driver.api.core.metadata.Node;
import com.datastax.oss.driver.api.core.servererrors.InvalidQueryException;
import com.datastax.oss.driver.api.core.servererrors.UnavailableException;
import org.junit.jupiter.api.Test;

class CassandraErrorsTest {
    private static String classified(Exception thrown) {
        return new CassandraDB().classify(thrown).toString();
    }

    @Test
    void withoutAnyNodeTheThreadWaits() {
        assertEquals("ERROR true true", classified(new NoNodeAvailableException()));
        assertEquals("ERROR true true", classified(new IOException("no node")));
    }

    @Test
    void tooFewReplicasMayPass() {
        Exception unavailable = new UnavailableException(null, DefaultConsistencyLevel.QUORUM, 2, 1);
        assertEquals("SERVICE_UNAVAILABLE true false", classified(unavailable));
        assertEquals("ERROR true false", classified(new DriverTimeoutException("too late")));
    }

    @Test
    void aWrongStatementStaysWrong() {
        assertEquals("BAD_REQUEST false false", classified(new InvalidQueryException(null, "no such table")));
        assertThrows(IllegalArgumentException.class, () -> CassandraDB.quote("x; DROP TABLE y"));
    }

    @Test
    void whatTheNodesAnsweredDecides() {
        Exception answered = new UnavailableException(null, DefaultConsistencyLevel.ALL, 3, 2);
        assertEquals("SERVICE_UNAVAILABLE true false", classified(failed(answered)));
        assertEquals("ERROR true true", classified(failed(new ClosedConnectionException("gone"))));
    }

    private static AllNodesFailedException failed(Throwable reason) {
        Node node = (Node) Proxy.newProxyInstance(Node.class.getClassLoader(), new Class<?>[] {Node.class},
            (proxy, method, arguments) -> method.getName().equals("hashCode") ? 1 : null);
        return AllNodesFailedException.fromErrors(List.of(Map.entry(node, reason)));
    }
}
