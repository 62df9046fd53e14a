package org.benchsite.postgresql;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Properties;

import org.benchsite.ycsb.Settings;
import org.benchsite.ycsb.Tls;
import org.postgresql.ssl.WrappedFactory;
import site.ycsb.DBException;

/** TLS by the connection's properties; the driver makes it by its name, and compares the host itself. */
public final class PemSocketFactory extends WrappedFactory {
    public PemSocketFactory(Properties connection) throws DBException, GeneralSecurityException, IOException {
        Settings settings = new Settings(Tls.properties("postgresql"), connection);
        factory = Tls.context(settings, "postgresql").getSocketFactory();
    }
}
