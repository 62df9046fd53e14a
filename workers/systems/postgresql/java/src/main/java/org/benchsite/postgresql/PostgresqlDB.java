package org.benchsite.postgresql;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
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
import org.postgresql.Driver;
import site.ycsb.DBException;

/** PostgreSQL. With {@code postgresql.autocommit=false} every operation has a COMMIT of its own. */
public final class PostgresqlDB extends JdbcDB {
    /** The driver counts its timeouts in whole seconds. */
    private static final int MS_PER_SECOND = 1000;
    private static final List<Property> DECLARED = Stream.concat(Tls.pems("postgresql").stream(), Stream.of(
        Property.text("postgresql.host", "127.0.0.1"),
        Property.whole("postgresql.port", 5432, 1, 65_535),
        Property.text("postgresql.database", "ycsb"),
        Property.text("postgresql.user", "ycsb"),
        Property.text("postgresql.password", ""),
        Property.whole("postgresql.timeout_ms", 30_000, 1_000, 3_600_000),
        Property.choice("postgresql.synchronous_commit", "", "off", "local", "remote_write", "on", "remote_apply"),
        Property.flag("postgresql.autocommit", true),
        Property.choice("postgresql.ssl", "disable", "disable", "prefer", "require", "verify-ca", "verify-full"))
        ).collect(Collectors.toList());

    public PostgresqlDB() {
        super("\"");
    }

    @Override
    protected List<Property> declared() {
        return DECLARED;
    }

    @Override
    protected Connection open(Settings given) throws SQLException, DBException {
        String url = url("postgresql",
            given.text("postgresql.host"), given.whole("postgresql.port"), given.text("postgresql.database"));
        int seconds = (given.whole("postgresql.timeout_ms") + MS_PER_SECOND - 1) / MS_PER_SECOND;
        Properties options = new Properties();
        options.setProperty("user", given.text("postgresql.user"));
        if (!given.text("postgresql.password").isEmpty()) {
            options.setProperty("password", given.text("postgresql.password"));
        }
        options.setProperty("connectTimeout", Integer.toString(seconds));
        options.setProperty("loginTimeout", Integer.toString(seconds));
        options.setProperty("socketTimeout", Integer.toString(seconds));
        options.setProperty("socketFactory", WatchedSocket.Factory.class.getName());
        options.setProperty("sslmode", given.text("postgresql.ssl"));
        options.setProperty("sslfactory", PemSocketFactory.class.getName());
        options.setProperty("postgresql.tls", tls(given.text("postgresql.ssl"), given.text("postgresql.tls.ca")));
        Tls.pems("postgresql").forEach(pem -> options.setProperty(pem.name, given.text(pem.name)));
        options.setProperty("gssEncMode", "disable");
        options.setProperty("ApplicationName", "benchsite");
        Connection connection = new Driver().connect(url, options);
        try {
            setSynchronousCommit(connection, given.text("postgresql.synchronous_commit"));
            connection.setAutoCommit(given.flag("postgresql.autocommit"));
            return connection;
        } catch (SQLException | DBException e) {
            connection.close();
            throw e;
        }
    }

    @Override
    protected Failure classify(SQLException thrown, String message) {
        return SqlState.classify(thrown.getSQLState(), message);
    }

    /** Whether the server's certificate is verified; as by libpq, {@code require} verifies it where there is a CA. */
    static String tls(String ssl, String ca) {
        boolean verifies = ssl.startsWith("verify") || ssl.equals("require") && !ca.isEmpty();
        return verifies ? "verify-ca" : "trust";
    }

    private static void setSynchronousCommit(Connection connection, String wanted)
        throws SQLException, DBException {
        if (wanted.isEmpty()) {
            return;
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET SESSION synchronous_commit TO '" + wanted + "'");
            try (ResultSet shown = statement.executeQuery("SHOW synchronous_commit")) {
                shown.next();
                String found = shown.getString(1);
                if (!found.equals(wanted)) {
                    throw new DBException("synchronous_commit is " + found + " after it was set to " + wanted);
                }
            }
        }
    }
}
