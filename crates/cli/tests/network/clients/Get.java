import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Gets a page: Get client|connection URL. */
public class Get {
    public static void main(String[] words) throws Exception {
        URI where = URI.create(words[1]);
        SSLContext trust = trust(System.getenv("CA"));
        if (words[0].equals("client")) {
            HttpClient client = HttpClient.newBuilder().sslContext(trust).build();
            HttpRequest request = HttpRequest.newBuilder(where).build();
            System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
        } else {
            HttpsURLConnection connection = (HttpsURLConnection) where.toURL().openConnection();
            connection.setSSLSocketFactory(trust.getSocketFactory());
            System.out.print(new String(connection.getInputStream().readAllBytes()));
        }
    }

    static SSLContext trust(String file) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null);
        try (FileInputStream stream = new FileInputStream(file)) {
            CertificateFactory factory = CertificateFactory.getInstance("X.509");
            store.setCertificateEntry("ours", factory.generateCertificate(stream));
        }
        TrustManagerFactory managers =
            TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, managers.getTrustManagers(), null);
        return context;
    }
}
