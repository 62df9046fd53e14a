package org.benchsite.mariadb;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.benchsite.ycsb.Failure;
import org.benchsite.ycsb.JdbcDB;
import org.benchsite.ycsb.Property;
import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import org.benchsite.ycsb.WatchedSocket;
import org.mariadb.jdbc.Driver;
import site.ycsb.DBException;
import site.ycsb.Status;

/** MariaDB. Statements are prepared on the server, and each commits by itself. */
public final class MariadbDB extends JdbcDB {
    static final List<Property> DECLARED = Stream.concat(Tls.pems("mariadb").stream(), Stream.of(
        Property.text("mariadb.host", "127.0.0.1"),
        Property.whole("mariadb.port", 3306, 1, 65_535),
        Property.text("mariadb.database", "ycsb"),
        Property.text("mariadb.user", "ycsb"),
        Property.text("mariadb.password", ""),
        Property.whole("mariadb.timeout_ms", 30_000, 1, 3_600_000),
        Property.choice("mariadb.ssl", "disable", "disable", "trust", "verify-ca", "verify-full"))
        ).collect(Collectors.toList());
    private static final int DUPLICATE_KEY = 1062;
    private static final int READ_ONLY = 1290;
    private static final int TOO_MANY_CONNECTIONS = 1040;

    public MariadbDB() {
        super("`");
    }

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected Connection open(Settings given) throws SQLException, DBException {
        return connect(
            url("mariadb", given.text("mariadb.host"), given.whole("mariadb.port"), given.text("mariadb.database")),
            given, given.whole("mariadb.timeout_ms"));
    }

    /** As the user, and with the TLS, that the properties name. */
    static Connection connect(String url, Settings given, int timeoutMs) throws SQLException {
        Properties options = new Properties();
        options.setProperty("user", given.text("mariadb.user"));
        options.setProperty("password", given.text("mariadb.password"));
        options.setProperty("sslMode", given.text("mariadb.ssl"));
        if (!given.text("mariadb.tls.ca").isEmpty()) {
            options.setProperty("serverSslCert", Tls.lines(given.text("mariadb.tls.ca")));
        }
        options.setProperty("tlsSocketType", PemPlugin.TYPE);
        Tls.pems("mariadb").forEach(pem -> options.setProperty(pem.name, given.text(pem.name)));
        options.setProperty("connectTimeout", Integer.toString(timeoutMs));
        options.setProperty("socketTimeout", Integer.toString(timeoutMs));
        options.setProperty("socketFactory", WatchedSocket.Factory.class.getName());
        options.setProperty("useServerPrepStmts", "true");
        // A server must not be able to read files of the client.
        options.setProperty("allowLocalInfile", "false");
        return new Driver().connect(url, options);
    }

    @Override
    protected Failure classify(SQLException thrown, String message) {
        return classify(thrown.getErrorCode(), thrown.getSQLState(), message);
    }

    /** By the server's error number (MariaDB documentation, MariaDB Error Codes), then by SQLSTATE. */
    static Failure classify(int number, String state, String message) {
        switch (number) {
            case DUPLICATE_KEY:
                return Failure.alreadyThere(message);
            case READ_ONLY:
            case TOO_MANY_CONNECTIONS:
                return Failure.passing(Status.SERVICE_UNAVAILABLE, message);
            default:
                break;
        }
        switch (state == null || state.length() < 2 ? "" : state.substring(0, 2)) {
            case "08":
                return Failure.broken(message);
            case "28":
                return Failure.lasting(Status.FORBIDDEN, message);
            case "42":
                return Failure.lasting(state.equals("42000") ? Status.FORBIDDEN : Status.BAD_REQUEST, message);
            case "22":
            case "23":
                return Failure.lasting(Status.BAD_REQUEST, message);
            default:
                return Failure.passing(Status.ERROR, message);
        }
    }
}
