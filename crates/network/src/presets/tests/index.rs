//! Fetching pages, and what is believed of them.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::get::{Get, GetFault, Page, get};
use super::super::look::Look;
use super::super::url::Url;
use super::{Site, Stage, holds, page, path_of, redirect};

fn fetch(url: &str, most: usize) -> Result<Page, GetFault> {
    get(Get { url: Url::parse(url).expect("url"), accept: "text/html", most })
}

#[test]
fn a_page_is_fetched_whole_cut_or_in_chunks() {
    let site = Site::serve(|head| match path_of(head) {
        "/whole" => page("0123456789"),
        "/close" => "HTTP/1.0 200 OK\r\n\r\n0123456789".to_owned(),
        "/chunks" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                      4\r\n0123\r\n6;x=y\r\n456789\r\n0\r\n\r\n"
            .to_owned(),
        _ => "HTTP/1.1 500 Oh\r\n\r\n".to_owned(),
    });
    for path in ["/whole", "/close", "/chunks"] {
        let url = format!("{}{path}", site.url());
        assert_eq!(fetch(&url, 1000).expect(path).body, "0123456789", "{path}");
    }
    let cut = fetch(&format!("{}/whole", site.url()), 4).expect("page");
    assert_eq!(cut.body, "0123");
    let fault = fetch(&format!("{}/none", site.url()), 4);
    assert!(matches!(fault, Err(GetFault::Status(500))), "{fault:?}");
    let head = site.asked().remove(0);
    assert!(head.starts_with("GET /whole HTTP/1.1\r\nHost: 127.0.0.1:"), "{head}");
    assert!(!head.to_ascii_lowercase().contains("authorization"), "{head}");
}

#[test]
fn what_is_not_http_is_a_fault() {
    for response in ["", "SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200"] {
        let site = Site::serve(move |_| response.to_owned());
        let fault = fetch(&site.url(), 100);
        assert!(matches!(fault, Err(GetFault::Http)), "{response}: {fault:?}");
    }
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20));
    let site = Site::serve(move |_| endless.clone());
    assert!(matches!(fetch(&site.url(), 100), Err(GetFault::Http | GetFault::Io(_))));
}

#[test]
fn three_redirects_are_followed_and_no_more() {
    let site = Site::serve(|head| match path_of(head) {
        "/a" => redirect("/b"),
        "/b" => redirect("c"),
        "/c" => redirect("/page"),
        "/page" => page("here"),
        _ => redirect("/x"),
    });
    let found = fetch(&format!("{}/a", site.url()), 100).expect("page");
    assert_eq!((found.body.as_str(), found.passed.len()), ("here", 3));
    let fault = fetch(&format!("{}/x", site.url()), 100);
    assert!(matches!(fault, Err(GetFault::Redirect)), "{fault:?}");
}

#[test]
fn a_redirect_to_a_bare_address_or_this_machine_is_not_followed() {
    for to in
        ["http://localhost:1/", "http://10.0.0.1/", "http://[::1]:1/", "http://169.254.169.254/x"]
    {
        let site = Site::serve(move |_| redirect(to));
        let fault = fetch(&site.url(), 100);
        assert!(matches!(fault, Err(GetFault::Redirect)), "{to}: {fault:?}");
    }
    let site = Site::serve(|_| redirect("file:///etc/passwd"));
    assert!(fetch(&site.url(), 100).is_err());
}

#[test]
fn a_server_that_says_nothing_does_not_hold_things_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let url = format!("http://{}/", listener.local_addr().expect("address"));
    let started = Instant::now();
    let fault = fetch(&url, 100);
    assert!(matches!(fault, Err(GetFault::Time)), "{fault:?}");
    assert!(started.elapsed() < Duration::from_secs(120));
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("certificate");
    let chain = vec![key.cert.der().clone()];
    let secret = rustls::pki_types::PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .expect("config");
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = listener.local_addr().expect("address").port();
    let server = std::thread::spawn(move || {
        let (socket, _) = listener.accept().expect("accept");
        let connection = rustls::ServerConnection::new(Arc::new(config)).expect("connection");
        let mut stream = rustls::StreamOwned::new(connection, socket);
        let _ = stream.write_all(page("secret").as_bytes());
    });
    let fault = fetch(&format!("https://localhost:{port}/"), 100);
    assert!(matches!(fault, Err(GetFault::Io(_))), "{fault:?}");
    server.join().expect("server");
}

#[test]
fn an_index_cannot_open_this_machine_or_bare_addresses() {
    let links = [
        "http://localhost:5432/x",
        "http://10.0.0.5/x",
        "http://127.0.0.1:1/x",
        "http://[fd00::5]/x",
    ];
    let files: Vec<String> = links.iter().map(|link| format!("{{\"url\":\"{link}\"}}")).collect();
    let body = format!("{{\"files\":[{},{{\"url\":\"https://ok.test/x\"}}]}}", files.join(","));
    let site = Site::pages(&[("/pip/", &body)]);
    let stage = Stage::new().program("pip", "").var("PIP_INDEX_URL", &site.url()).online();
    let found = stage.find("python");
    assert_eq!(found.hosts.len(), 2, "{found:?}");
    assert!(holds(&found, "ok.test"), "{found:?}");
    for host in ["localhost:5432", "10.0.0.5", "127.0.0.1:1,", "[fd00::5]"] {
        let warned = found.warnings.iter().any(|warning| warning.contains(host));
        assert!(warned, "{host}: {:?}", found.warnings);
    }
}

#[test]
fn an_index_that_is_not_encrypted_names_only_itself() {
    let stage = Stage::new();
    let named = |at: &str, url: &str| {
        let mut look = Look::new(&stage.machine, "python");
        look.add_named(&Url::parse(at).expect("url"), &[url.to_owned()], "the links");
        look.done()
    };
    assert_eq!(named("https://index.test/", "https://files.test").hosts.len(), 1);
    assert_eq!(named("http://index.test/", "https://index.test").hosts.len(), 1);
    let found = named("http://index.test/", "https://files.test");
    assert_eq!(found.hosts, []);
    assert!(holds(&found, "is not encrypted"), "{found:?}");
}

#[test]
fn an_index_names_a_limited_number_of_hosts() {
    let stage = Stage::new();
    let mut look = Look::new(&stage.machine, "python");
    let urls: Vec<String> = (0..100).map(|n| format!("https://h{n}.test")).collect();
    look.add_named(&Url::parse("https://index.test/").expect("url"), &urls, "the links");
    let found = look.done();
    assert_eq!(found.hosts.len(), 16);
    assert!(holds(&found, "it names too many"), "{found:?}");
}

#[test]
fn an_index_that_wants_credentials_or_is_away_is_a_warning() {
    let closed = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    let site = Site::serve(move |_| closed.to_owned());
    let stage = Stage::new().program("pip", "").var("PIP_INDEX_URL", &site.url()).online();
    let found = stage.find("python");
    assert_eq!(found.hosts.len(), 1, "{found:?}");
    assert!(holds(&found, "it wants credentials"), "{found:?}");
    let url = site.url();
    drop(site);
    let stage = Stage::new().program("pip", "").var("PIP_INDEX_URL", &url).online();
    let found = stage.find("python");
    assert!(holds(&found, "could not be asked"), "{found:?}");
    let stage = Stage::new().program("pip", "").var("PIP_INDEX_URL", &url);
    let found = stage.find("python");
    assert!(holds(&found, "the network is not used now"), "{found:?}");
}
