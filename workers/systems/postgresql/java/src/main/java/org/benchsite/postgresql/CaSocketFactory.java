package org.benchsite.postgresql;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Properties;

import org.benchsite.ycsb.Tls;
import org.postgresql.ssl.WrappedFactory;

/** Trusts the CA of the connection's properties; the driver makes it by its name, and compares the host itself. */
public final class CaSocketFactory extends WrappedFactory {
    public CaSocketFactory(Properties connection) throws GeneralSecurityException, IOException {
        factory = Tls.context("postgresql.tls.ca", connection.getProperty("postgresql.tls.ca", "")).getSocketFactory();
    }
}
