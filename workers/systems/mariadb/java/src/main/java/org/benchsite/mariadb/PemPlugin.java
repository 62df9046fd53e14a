package org.benchsite.mariadb;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.sql.SQLException;

import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;

import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import org.mariadb.jdbc.Configuration;
import org.mariadb.jdbc.export.ExceptionFactory;
import org.mariadb.jdbc.plugin.tls.main.DefaultTlsSocketPlugin;
import site.ycsb.DBException;

/** Shows the certificate of the connection's properties, which the driver itself reads from files only. */
public final class PemPlugin extends DefaultTlsSocketPlugin {
    static final String TYPE = "benchsite";

    @Override
    public String type() {
        return TYPE;
    }

    @Override
    public KeyManager[] getKeyManager(Configuration connection, ExceptionFactory exceptions) throws SQLException {
        try {
            Settings settings = new Settings(Tls.pems("mariadb"), connection.nonMappedOptions());
            KeyManagerFactory keys = Tls.keys(settings, "mariadb");
            return keys == null ? null : keys.getKeyManagers();
        } catch (DBException | GeneralSecurityException | IOException e) {
            throw new SQLException(e);
        }
    }
}
