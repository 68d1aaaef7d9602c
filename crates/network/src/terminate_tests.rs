//! Real TLS on the loopback address, through a whole gate.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use zonekeep_policy::hosts::{ConnectQuestion, HostPattern, Hosts, PresetHosts};
use zonekeep_policy::limit::Limits;
use zonekeep_policy::policy::{Consent, Network};
use zonekeep_policy::source::Ruled;

use super::*;
use crate::secret::Secret;
use crate::{Account, Desk, Event, Gate, Refused, Setting};

const VALUE: &str = "the-true-value-0123456789";
const TOKEN: &str = "token";

/// Remembers what happened.
#[derive(Default)]
struct Told(Mutex<Vec<Event>>);

impl Desk for Told {
    fn ask(&self, _question: &ConnectQuestion) -> Result<(), Refused> {
        Err(Refused::new("nobody is there"))
    }

    fn tell(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl Told {
    fn refusals(&self) -> Vec<(Reason, String)> {
        let events = self.0.lock().unwrap();
        let refused = events.iter().filter_map(|event| match event {
            Event::Refused { reason, detail, .. } => Some((*reason, detail.clone())),
            _ => None,
        });
        refused.collect()
    }
}

/// Who the server says it is.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    Localhost,
    Another,
    /// What nobody has signed for that is trusted.
    Untrusted,
    /// Not in TLS.
    Plainly,
}

/// What the server answers to a request that it was sent, head and body.
type Answer = fn(&str) -> Vec<u8>;

/// A server, and a gate with a secret for it.
struct Rig {
    port: u16,
    proxy: u16,
    placeholder: String,
    authority: Arc<Authority>,
    told: Arc<Told>,
    /// Open as long as this is there.
    _gate: Gate,
    /// All that the server was sent.
    sent: Arc<Mutex<String>>,
}

impl Rig {
    async fn new(says: Says, answer: Answer) -> Rig {
        let theirs = Authority::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let root = match says {
            Says::Untrusted => Authority::new().unwrap().pem().to_owned(),
            _ => theirs.pem().to_owned(),
        };
        let sent = Arc::new(Mutex::new(String::new()));
        tokio::spawn(serve(listener, theirs, says, answer, Arc::clone(&sent)));

        let authority = Arc::new(Authority::trusting(vec![certificate(&root)]).unwrap());
        let host = HostPattern::parse(&format!("localhost:{port}")).unwrap();
        let secret =
            Secret::new("KEY", VALUE.to_owned(), vec![host.clone()], "Authorization").unwrap();
        let placeholder = secret.placeholder().to_owned();
        let allow = vec![Ruled::default_of(host)];
        let setting = Setting {
            network: Network::Hosts(Hosts { allow, ask: vec![], deny: vec![], presets: vec![] }),
            presets: PresetHosts::new(),
            consent: Ruled::default_of(Consent::default()),
            secrets: vec![secret],
            authority: Some(Arc::clone(&authority)),
            limits: Limits::default(),
            account: Arc::new(Account::default()),
            token: Some(TOKEN.to_owned()),
        };
        let told = Arc::new(Told::default());
        let (gate, proxy) = Gate::on_host(setting, Arc::clone(&told) as Arc<dyn Desk>).unwrap();
        Rig { port, proxy, placeholder, authority, told, _gate: gate, sent }
    }

    /// Connects to the server through the gate, but does not speak yet.
    async fn connect(&self) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.proxy)).await.unwrap();
        let (port, login) = (self.port, STANDARD.encode(format!("zonekeep:{TOKEN}")));
        let request = format!(
            "CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\
             Proxy-Authorization: Basic {login}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(stream.read_u8().await.unwrap());
        }
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        stream
    }

    /// Starts TLS as a client that trusts the session's authority alone.
    async fn tls(&self, protocols: &[&[u8]]) -> io::Result<client::TlsStream<TcpStream>> {
        self.tls_trusting(self.authority.pem(), protocols).await
    }

    async fn tls_trusting(
        &self,
        pem: &str,
        protocols: &[&[u8]],
    ) -> io::Result<client::TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate(pem)).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, self.connect().await).await
    }

    /// Sends a request in TLS, with the placeholder for `<KEY>`, and returns the answer.
    async fn request(&self, lines: &str) -> String {
        let mut stream = self.tls(&[b"h2", b"http/1.1"]).await.unwrap();
        let request = format!(
            "{}\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n",
            lines.replace("<KEY>", &self.placeholder),
            self.port
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        all(&mut stream).await
    }

    fn sent(&self) -> String {
        self.sent.lock().unwrap().clone()
    }

    /// Waits until something was refused so many times.
    async fn refusals(&self, count: usize) -> Vec<(Reason, String)> {
        for _ in 0..2000 {
            if self.told.refusals().len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.told.refusals()
    }
}

fn certificate(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// Reads to the end, however it comes.
async fn all(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8(answer).unwrap()
}

async fn serve(
    listener: TcpListener,
    theirs: Authority,
    says: Says,
    answer: Answer,
    sent: Arc<Mutex<String>>,
) {
    let name = if says == Says::Another { "another.test" } else { "localhost" };
    let acceptor = TlsAcceptor::from(theirs.as_host(name).unwrap());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (acceptor, sent) = (acceptor.clone(), Arc::clone(&sent));
        tokio::spawn(async move {
            if says == Says::Plainly {
                return talk(stream, answer, sent).await;
            }
            if let Ok(stream) = acceptor.accept(stream).await {
                assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
                talk(stream, answer, sent).await;
            }
        });
    }
}

/// Answers requests that have no body until one is the last.
async fn talk<S>(mut stream: S, answer: Answer, sent: Arc<Mutex<String>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let Ok(byte) = stream.read_u8().await else { return };
            request.push(byte);
            if request == [22] {
                // It expects no TLS, and says so.
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
                return;
            }
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        sent.lock().unwrap().push_str(&request);
        // In pieces, so that a value is cut somewhere.
        for part in answer(&request).chunks(11) {
            if stream.write_all(part).await.is_err() || stream.flush().await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if request.to_ascii_lowercase().contains("connection: close") {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

/// Repeats the request.
fn echo(request: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{request}", request.len()).into_bytes()
}

#[tokio::test]
async fn the_server_gets_the_value_and_the_command_does_not() {
    let rig = Rig::new(Says::Localhost, echo).await;
    let answer = rig.request("GET /a HTTP/1.1\r\nAuthorization: Bearer <KEY>").await;
    let sent = rig.sent();
    assert!(sent.contains(&format!("\r\nAuthorization: Bearer {VALUE}\r\n")), "{sent}");
    assert!(sent.contains("\r\nAccept-Encoding: identity\r\n"), "{sent}");
    assert!(!sent.contains("zonekeep-secret"), "{sent}");

    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(!answer.contains(VALUE) && !answer.contains(&VALUE[3..]), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{answer}");
    assert_eq!(rig.refusals(0).await, []);
}

#[tokio::test]
async fn a_name_and_a_password_get_there_and_do_not_come_back() {
    let rig = Rig::new(Says::Localhost, echo).await;
    for user in ["u", "us", "use"] {
        let login = STANDARD.encode(format!("{user}:{}", rig.placeholder));
        let answer = rig.request(&format!("GET / HTTP/1.1\r\nAuthorization: Basic {login}")).await;
        let want = STANDARD.encode(format!("{user}:{VALUE}"));
        assert!(rig.sent().contains(&format!("Basic {want}\r\n")), "{}", rig.sent());
        let (_, back) = answer.split_once("Basic ").unwrap();
        let back = back.split_once("\r\n").unwrap().0;
        assert_eq!(back.len(), want.len());
        // Not more of it than a letter at each end, which also depends on others.
        let same = back.bytes().zip(want.bytes()).rev().skip(3);
        let kept = same.take(20).filter(|(a, b)| a == b).count();
        assert!(kept < 6, "{back} {want}");
    }
}

#[tokio::test]
async fn each_request_of_a_connection_is_looked_at() {
    let rig = Rig::new(Says::Localhost, echo).await;
    let mut stream = rig.tls(&[]).await.unwrap();
    let host = format!("Host: localhost:{}\r\n", rig.port);
    let first = format!("GET /1 HTTP/1.1\r\n{host}Authorization: {}\r\n\r\n", rig.placeholder);
    stream.write_all(first.as_bytes()).await.unwrap();
    let mut answer = String::new();
    while !answer.ends_with("identity\r\n\r\n") {
        answer.push(char::from(stream.read_u8().await.unwrap()));
    }
    let second = format!("GET /2?{} HTTP/1.1\r\n{host}\r\n", rig.placeholder);
    stream.write_all(second.as_bytes()).await.unwrap();
    let answer = all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(answer.contains("the secret KEY does not belong in the address"), "{answer}");
    assert!(!rig.sent().contains("/2"));
    let refusals = rig.refusals(1).await;
    assert!(refusals.len() == 1 && refusals[0].0 == Reason::Secret, "{refusals:?}");
}

#[tokio::test]
async fn a_placeholder_in_a_body_is_stopped() {
    let rig = Rig::new(Says::Localhost, echo).await;
    let mut stream = rig.tls(&[b"http/1.1"]).await.unwrap();
    let (port, placeholder) = (rig.port, &rig.placeholder);
    let (one, two) = placeholder.split_at(25);
    let request = format!(
        "POST / HTTP/1.1\r\nHost: localhost:{port}\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{one}\r\n{:x};ext=1\r\n{two}\r\n0\r\n\r\n",
        one.len(),
        two.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    all(&mut stream).await;
    assert!(!rig.sent().contains(two), "{}", rig.sent());
    let refusals = rig.refusals(1).await;
    assert_eq!(refusals[0].0, Reason::Secret, "{refusals:?}");
}

#[tokio::test]
async fn another_host_inside_is_refused() {
    let rig = Rig::new(Says::Localhost, echo).await;
    let mut stream = rig.tls(&[b"http/1.1"]).await.unwrap();
    let request =
        format!("GET / HTTP/1.1\r\nHost: other.test\r\nAuthorization: {}\r\n\r\n", rig.placeholder);
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert_eq!(rig.sent(), "");
}

#[tokio::test]
async fn a_server_that_is_not_the_host_gets_nothing() {
    for (says, why) in [
        (Says::Another, "its certificate is not trusted"),
        (Says::Untrusted, "its certificate is not trusted"),
        (Says::Plainly, "Cannot start TLS"),
    ] {
        let rig = Rig::new(says, echo).await;
        let answer = rig.request("GET / HTTP/1.1\r\nAuthorization: Bearer <KEY>").await;
        assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
        assert!(answer.contains("Cannot start TLS with 'localhost'"), "{answer}");
        assert!(answer.contains(why), "{answer}");
        assert!(!rig.sent().contains(VALUE));
        let refusals = rig.refusals(1).await;
        assert_eq!(refusals.len(), 1, "{refusals:?}");
        assert!(refusals[0].0 == Reason::Unreachable && refusals[0].1.contains(why));
    }
}

#[tokio::test]
async fn only_http_1_is_spoken_and_only_with_who_trusts_the_session() {
    let rig = Rig::new(Says::Localhost, echo).await;
    let stream = rig.tls(&[b"h2", b"http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    drop(stream);

    assert!(rig.tls(&[b"h2"]).await.is_err());
    let other = Authority::new().unwrap();
    assert!(rig.tls_trusting(other.pem(), &[b"http/1.1"]).await.is_err());
    let reasons: Vec<Reason> =
        rig.refusals(2).await.into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, [Reason::Protocol, Reason::Protocol]);

    let mut stream = rig.tls(&[]).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let answer = all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(rig.sent(), "");
}

#[tokio::test]
async fn a_service_of_this_machine_gets_the_value_without_tls() {
    let rig = Rig::new(Says::Plainly, echo).await;
    let mut stream = rig.connect().await;
    let request = format!(
        "GET / HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: {}\r\nConnection: close\r\n\r\n",
        rig.port, rig.placeholder
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = all(&mut stream).await;
    assert!(rig.sent().contains(VALUE), "{}", rig.sent());
    assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains(&VALUE[3..]), "{answer}");
}

/// Repeats the request in chunks of five bytes; without a body for HEAD.
fn echo_in_chunks(request: &str) -> Vec<u8> {
    let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    if !request.starts_with("HEAD") {
        for part in request.as_bytes().chunks(5) {
            answer.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            answer.extend_from_slice(part);
            answer.extend_from_slice(b"\r\n");
        }
        answer.extend_from_slice(b"0\r\n\r\n");
    }
    answer
}

/// Takes the chunks of an answer apart, up to the last one.
fn unchunked(answer: &str) -> String {
    let (_, mut rest) = answer.split_once("\r\n\r\n").unwrap();
    let mut content = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        content.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    content
}

#[tokio::test]
async fn a_value_in_chunks_does_not_come_back() {
    for says in [Says::Localhost, Says::Plainly] {
        let rig = Rig::new(says, echo_in_chunks).await;
        let (port, key) = (rig.port, &rig.placeholder);
        let request = |method: &str, after: &str| {
            let about = format!("Host: localhost:{port}\r\nAuthorization: {key}\r\n{after}");
            format!("{method} / HTTP/1.1\r\n{about}\r\n").into_bytes()
        };
        let sent = [request("HEAD", ""), request("GET", "Connection: close\r\n")].concat();
        let answer = if says == Says::Plainly {
            let mut stream = rig.connect().await;
            stream.write_all(&sent).await.unwrap();
            all(&mut stream).await
        } else {
            let mut stream = rig.tls(&[]).await.unwrap();
            stream.write_all(&sent).await.unwrap();
            all(&mut stream).await
        };
        assert!(rig.sent().contains(VALUE), "{}", rig.sent());
        let (head, answer) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with("chunked"), "{head}");
        let content = unchunked(answer);
        assert!(content.contains("Authorization: zonekeep-secret-key"), "{content}");
        assert!(!content.contains(&VALUE[3..]), "{content}");
        assert_eq!(rig.refusals(0).await, []);
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_refused_and_reported() {
    let answer: Answer = |request| {
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n".to_vec();
        answer.extend(echo_in_chunks(request).split_off("HTTP/1.1 200 OK\r\n".len()));
        answer
    };
    let rig = Rig::new(Says::Localhost, answer).await;
    let answer = rig.request("GET / HTTP/1.1\r\nAuthorization: <KEY>").await;
    let why = "an answer of a host that gets secrets cannot be read: it says its length twice";
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(why), "{answer}");
    assert_eq!(rig.refusals(1).await, [(Reason::Protocol, why.to_owned())]);
}

#[tokio::test]
async fn who_never_asks_is_not_waited_for() {
    let refusal = Refusal::new(Reason::Unreachable, "no such server");
    let (client, mut far) = tokio::io::duplex(64 * 1024);
    tell(client, &refusal, Duration::from_millis(10)).await;
    assert_eq!(all(&mut far).await, "");

    let (client, mut far) = tokio::io::duplex(64 * 1024);
    far.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await.unwrap();
    let telling = tell(client, &refusal, Duration::from_secs(30));
    let ((), answer) = tokio::join!(telling, async {
        let mut start = vec![0; 12];
        far.read_exact(&mut start).await.unwrap();
        drop(far);
        start
    });
    assert_eq!(answer, b"HTTP/1.1 502");
}
