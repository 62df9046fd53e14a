package org.benchsite.hbase;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.ConnectException;
import java.util.List;

import org.apache.hadoop.hbase.CallQueueTooBigException;
import org.apache.hadoop.hbase.NotServingRegionException;
import org.apache.hadoop.hbase.RegionTooBusyException;
import org.apache.hadoop.hbase.TableNotFoundException;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RetriesExhaustedException;
import org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException;
import org.apache.hadoop.hbase.exceptions.ConnectionClosedException;
import org.apache.hadoop.hbase.ipc.CallTimeoutException;
import org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException;
import org.apache.hadoop.hbase.security.AccessDeniedException;
import org.junit.jupiter.api.Test;

class HbaseErrorsTest {
    private static String classified(Exception thrown) {
        return new HbaseDB().classify(thrown).toString();
    }

    @Test
    void withoutConnectionTheThreadWaits() {
        assertEquals("ERROR true true", classified(new ConnectException("refused")));
        assertEquals("ERROR true true", classified(new ConnectionClosedException("gone")));
        assertEquals("ERROR true true",
            classified(new RetriesExhaustedException("after 2 attempts", new IOException(new ConnectException("no")))));
    }

    @Test
    void busyServersMayServeLater() {
        assertEquals("SERVICE_UNAVAILABLE true false", classified(new RegionTooBusyException("memstore is full")));
        assertEquals("SERVICE_UNAVAILABLE true false", classified(new CallQueueTooBigException()));
        assertEquals("SERVICE_UNAVAILABLE true false",
            classified(new RetriesExhaustedException("after 2 attempts", new NotServingRegionException("moved"))));
    }

    @Test
    void timeoutsMayPass() {
        assertEquals("ERROR true false", classified(new CallTimeoutException("too late")));
    }

    @Test
    void wrongNamesStayWrong() {
        assertEquals("BAD_REQUEST false false", classified(new TableNotFoundException("nowhere")));
        assertEquals("BAD_REQUEST false false", classified(new NoSuchColumnFamilyException("none")));
        assertEquals("BAD_REQUEST false false", classified(new IllegalArgumentException("no name")));
        assertEquals("FORBIDDEN false false", classified(new AccessDeniedException("no permission")));
    }

    /** What a write buffer reports is what the first of its writes met. */
    @Test
    void buffersReportTheirFirstFailure() {
        Exception thrown = new RetriesExhaustedWithDetailsException(
            List.of(new RegionTooBusyException("full")), List.of(new Put(new byte[] {1})), List.of("server:1"));
        assertEquals("SERVICE_UNAVAILABLE true false", classified(thrown));
    }
}
