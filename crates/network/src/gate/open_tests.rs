//! Connections that wait, and gates that are shut.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use zonekeep_policy::hosts::{ConnectQuestion, Hosts, PresetHosts};
use zonekeep_policy::limit::Limits;
use zonekeep_policy::policy::{Consent, Network};
use zonekeep_policy::source::Ruled;

use super::super::{Desk, Gate, Refused, Setting};
use crate::account::Account;
use crate::event::Event;

struct Quiet;

impl Desk for Quiet {
    fn ask(&self, _: &ConnectQuestion) -> Result<(), Refused> {
        Err(Refused::new("no"))
    }

    fn tell(&self, _: &Event) {}
}

/// A gate on the host, with an account of its own.
struct Scene {
    gate: Gate,
    port: u16,
    account: Arc<Account>,
}

impl Scene {
    fn new() -> Scene {
        let account = Arc::new(Account::default());
        let setting = Setting {
            network: Network::Hosts(Hosts::default()),
            presets: PresetHosts::new(),
            consent: Ruled::default_of(Consent::Tool),
            secrets: Vec::new(),
            authority: None,
            limits: Limits::none(),
            account: Arc::clone(&account),
            token: Some("token".to_owned()),
        };
        let (gate, port) = Gate::on_host(setting, Arc::new(Quiet)).unwrap();
        Scene { gate, port, account }
    }

    /// Takes all places that there are.
    fn take_all(&self) -> OwnedSemaphorePermit {
        let slots = self.account.slots();
        let all = u32::try_from(slots.count).unwrap();
        Arc::clone(&slots.free).try_acquire_many_owned(all).unwrap()
    }

    /// Connects, and asks for something.
    fn client(&self) -> TcpStream {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // Where nobody is let in, it may be over already.
        let _ = stream.write_all(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n");
        stream
    }
}

/// Returns whether a client hears anything before its connection ends.
fn is_served(mut stream: TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(count) => count > 0,
        Err(error) => {
            let ended = error.kind() == std::io::ErrorKind::ConnectionReset;
            assert!(ended, "the connection goes on: {error}");
            false
        }
    }
}

#[test]
fn connections_that_wait_for_a_place_are_cut_too() {
    let scene = Scene::new();
    for cut in [Gate::cut, Gate::shut] {
        scene.gate.reopen();
        let places = scene.take_all();
        // One of them has been accepted, and the others have not.
        let waiting: Vec<TcpStream> = (0..8).map(|_| scene.client()).collect();
        std::thread::sleep(Duration::from_millis(100));
        cut(&scene.gate);
        drop(places);
        assert!(!waiting.into_iter().any(is_served));
    }
}

#[test]
fn a_gate_that_is_shut_lets_nobody_in_until_it_is_opened_again() {
    let scene = Scene::new();
    assert!(is_served(scene.client()), "the control");
    scene.gate.shut();
    assert!(!is_served(scene.client()));
    let early = scene.client();
    scene.gate.reopen();
    assert!(!is_served(early), "it came before");
    assert!(is_served(scene.client()));
}
