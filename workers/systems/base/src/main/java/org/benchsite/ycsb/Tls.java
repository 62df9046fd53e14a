package org.benchsite.ycsb;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/**
 * TLS as a binding's properties describe it: NAME.tls, and NAME.tls.ca, NAME.tls.certificate and NAME.tls.key as PEM texts
 * whose line breaks may be blanks.
 */
public final class Tls {
    private static final char[] NO_PASSWORD = {};

    private Tls() {
    }

    /** The properties to declare. `name` begins their names. */
    public static List<Property> properties(String name) {
        List<Property> properties = new ArrayList<>(pems(name));
        properties.add(Property.choice(name + ".tls", "disable", "disable", "trust", "verify-ca", "verify-full"));
        return properties;
    }

    /** Of these the PEM texts. */
    public static List<Property> pems(String name) {
        return List.of(
            Property.text(name + ".tls.ca", ""),
            Property.text(name + ".tls.certificate", ""),
            Property.text(name + ".tls.key", ""));
    }

    public static boolean isEnabled(Settings settings, String name) {
        return !settings.text(name + ".tls").equals("disable");
    }

    /** Whether the certificate must name the host. */
    public static boolean checksHost(Settings settings, String name) {
        return settings.text(name + ".tls").equals("verify-full");
    }

    /**
     * Trusts any server, the CA of the properties, or those of Java; shows the client's certificate where there is one.
     * Throws an IllegalArgumentException that names the property that cannot be read.
     */
    public static SSLContext context(Settings settings, String name) throws GeneralSecurityException, IOException {
        KeyStore authorities = trustStore(settings, name);
        TrustManager[] trusted = null;
        if (settings.text(name + ".tls").equals("trust")) {
            trusted = new TrustManager[] {new TrustAll()};
        } else if (authorities != null) {
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(authorities);
            trusted = factory.getTrustManagers();
        }
        SSLContext context = SSLContext.getInstance("TLS");
        KeyManagerFactory keys = keys(settings, name);
        context.init(keys == null ? null : keys.getKeyManagers(), trusted, null);
        return context;
    }

    /** The certificates of the CA; none where those of Java are to be trusted. */
    public static List<X509Certificate> authorities(Settings settings, String name) {
        String ca = settings.text(name + ".tls.ca");
        return ca.isEmpty() ? List.of() : certificates(name + ".tls.ca", ca);
    }

    /** The certificates of the CA; null where those of Java are to be trusted. */
    public static KeyStore trustStore(Settings settings, String name) throws GeneralSecurityException, IOException {
        List<X509Certificate> authorities = authorities(settings, name);
        if (authorities.isEmpty()) {
            return null;
        }
        KeyStore store = emptyStore();
        for (Certificate certificate : authorities) {
            store.setCertificateEntry("ca-" + store.size(), certificate);
        }
        return store;
    }

    /** The client's certificate and key; null where there is none. */
    public static KeyManagerFactory keys(Settings settings, String name)
        throws GeneralSecurityException, IOException {
        KeyStore store = keyStore(settings, name, NO_PASSWORD);
        if (store == null) {
            return null;
        }
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, NO_PASSWORD);
        return factory;
    }

    /** The client's certificate, and its key under this password; null where there is none. */
    public static KeyStore keyStore(Settings settings, String name, char[] password)
        throws GeneralSecurityException, IOException {
        String certificate = settings.text(name + ".tls.certificate");
        if (certificate.isEmpty()) {
            return null;
        }
        Certificate[] chain = certificates(name + ".tls.certificate", certificate).toArray(new Certificate[0]);
        KeyStore store = emptyStore();
        store.setKeyEntry("client", key(name + ".tls.key", settings.text(name + ".tls.key"), chain[0]), password, chain);
        return store;
    }

    /** Of the oldest kind: PKCS #12 hashes 10,000 times for each key, which takes each thread half a second at first. */
    private static KeyStore emptyStore() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("JKS");
        store.load(null, NO_PASSWORD);
        return store;
    }

    /** Certificates with the line breaks that a property has not: a base64 decoder takes no blanks. */
    public static String lines(String pem) {
        return pem.replaceAll("\\s+(?!CERTIFICATE-)", "\n");
    }

    /** At least one. */
    private static List<X509Certificate> certificates(String property, String pem) {
        try {
            List<X509Certificate> certificates = new ArrayList<>();
            CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(lines(pem).getBytes(US_ASCII)))
                .forEach(certificate -> certificates.add((X509Certificate) certificate));
            if (!certificates.isEmpty()) {
                return certificates;
            }
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException(property + " holds no certificates as PEM text: " + e.getMessage(), e);
        }
        throw new IllegalArgumentException(property + " holds no certificates as PEM text");
    }

    /** A key of the kind that the certificate has, as PKCS #8 without a password. */
    private static PrivateKey key(String property, String pem, Certificate certificate) {
        try {
            String base64 = pem.replaceAll("-----(BEGIN|END) PRIVATE KEY-----|\\s", "");
            return KeyFactory.getInstance(certificate.getPublicKey().getAlgorithm())
                .generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(base64)));
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            // The cause may repeat a part of the key.
            throw new IllegalArgumentException(
                property + " must be the certificate's key as PEM text, BEGIN PRIVATE KEY, without a password");
        }
    }

    private static final class TrustAll implements X509TrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String authType) {
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String authType) {
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
