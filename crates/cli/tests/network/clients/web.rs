//! Clients of the web.

use super::{Client, Service};

const CURL: Client<'static> = Client { needs: &["curl"], ..Client::USUAL };

#[test]
fn curl() {
    Client { script: "curl -sSf https://$NAME/", ..CURL }.check();
}

#[test]
fn curl_without_tls() {
    Client { script: "curl -sSf http://$NAME/", ..CURL }.check();
}

#[test]
fn curl_by_socks() {
    // The second host has no proxy.
    let script = "curl -sSf ${HTTP_PROXY:+--proxy socks5h://${HTTP_PROXY#*//}} https://$NAME/";
    Client { script, ..CURL }.check();
}

#[test]
fn curl_with_an_upload() {
    let script = "head -c 3000000 /dev/zero | curl -sSf -T - https://$NAME/ ; \
                  head -c 3000000 /dev/zero | curl -sSf -T - http://$NAME/";
    Client { script, ..CURL }.check();
}

#[test]
fn curl_with_http2() {
    Client {
        script: "curl -sSf --http2 https://$NAME:4430/",
        allow: "h2.test:4430",
        name: "h2.test",
        works: "hello from h2.test:4430 by HTTP/2.0",
        services: &[Service::Http2],
        ..CURL
    }
    .check();
}

#[test]
fn wget() {
    let script = "wget -q -O- --tries=1 --ca-certificate=$CA https://$NAME/";
    Client { needs: &["wget"], script, ..Client::USUAL }.check();
}

#[test]
fn wget_without_tls() {
    let script = "wget -q -O- --tries=1 http://$NAME/";
    Client { needs: &["wget"], script, ..Client::USUAL }.check();
}

/// What an agent runs tells it which host was refused, and which are not.
#[test]
fn an_agent_is_told_what_was_refused() {
    let Some(bench) = CURL.bench() else { return };
    for line in ["curl -sS https://denied.test/", "curl -sS --noproxy '*' http://denied.test/"] {
        let call = serde_json::json!({ "command": line }).to_string();
        let mut command = bench.zonekeep();
        command.args(["tool", "shell", &call, "--approve", "all"]);
        let run = bench.project.finish(&mut command);
        assert!(run.stdout.contains("denied.test") && run.stdout.contains("refused"), "{run}");
        assert!(run.stdout.contains("allowed.test"), "{run}");
    }
    bench.nothing_denied();
    bench.recorded("denied.test");
}
