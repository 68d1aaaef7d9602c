//! A gate on loopback sockets, servers behind it, and a desk that keeps record.
//!
//! Inside and outside are the same network here. So a listed port of the host is
//! served at `[::1]` by the gate, and at `127.0.0.1` by the server it leads to.

#![allow(dead_code)] // no test uses all of it

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use zonekeep_network::{Account, Desk, Event, Gate, Layout, Reason, Refused, Setting};
use zonekeep_policy::hosts::{ConnectQuestion, Destination, HostPattern, Hosts, PresetHosts};
use zonekeep_policy::limit::Limits;
use zonekeep_policy::policy::{Consent, Network};
use zonekeep_policy::source::Ruled;

/// How long anything may take before a test has failed.
pub(crate) const SOON: Duration = Duration::from_secs(120);

/// A desk that keeps what it hears, and answers with one answer.
pub(crate) struct Recorder {
    events: Mutex<Vec<Event>>,
    pub(crate) asked: AtomicUsize,
    pub(crate) withdrawn: AtomicUsize,
    answer: Option<Refused>,
    delay: Duration,
}

impl Desk for Recorder {
    fn ask(&self, _question: &ConnectQuestion) -> Result<(), Refused> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(self.delay);
        self.answer.clone().map_or(Ok(()), Err)
    }

    fn withdrawn(&self, _to: &Destination) {
        self.withdrawn.fetch_add(1, Ordering::SeqCst);
    }

    fn tell(&self, event: &Event) {
        self.events.lock().unwrap().push(event.clone());
    }
}

impl Recorder {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// Waits for an event.
    pub(crate) fn wait(&self, what: &str, is: impl Fn(&Event) -> bool) -> Event {
        let end = Instant::now() + SOON;
        loop {
            if let Some(event) = self.events().into_iter().find(&is) {
                return event;
            }
            assert!(Instant::now() < end, "no {what} in {:#?}", self.events());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for a refusal with a reason; returns what was refused and why.
    pub(crate) fn refused(&self, want: Reason) -> (String, String) {
        let is = |event: &Event| matches!(event, Event::Refused { reason, .. } if *reason == want);
        match self.wait(&format!("refusal for {want}"), is) {
            Event::Refused { to, detail, .. } => (to, detail),
            _ => unreachable!(),
        }
    }

    pub(crate) fn refusals(&self) -> usize {
        self.events().iter().filter(|event| matches!(event, Event::Refused { .. })).count()
    }
}

/// What a gate is opened with.
pub(crate) struct Plan {
    pub(crate) allow: Vec<String>,
    pub(crate) ask: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) consent: Consent,
    pub(crate) limits: Limits,
    pub(crate) token: Option<String>,
    pub(crate) answer: Option<Refused>,
    pub(crate) delay: Duration,
}

pub(crate) fn allow<S: ToString>(hosts: impl IntoIterator<Item = S>) -> Plan {
    Plan {
        allow: hosts.into_iter().map(|host| host.to_string()).collect(),
        ask: Vec::new(),
        deny: Vec::new(),
        consent: Consent::Tool,
        limits: Limits::none(),
        token: None,
        answer: None,
        delay: Duration::ZERO,
    }
}

/// A gate at work.
pub(crate) struct Running {
    pub(crate) gate: Gate,
    pub(crate) desk: Arc<Recorder>,
    pub(crate) account: Arc<Account>,
    pub(crate) proxy: SocketAddr,
    /// Where the sockets of the layout are in truth.
    pub(crate) at: BTreeMap<(SocketAddr, bool), SocketAddr>,
}

impl Plan {
    fn setting(&self, account: &Arc<Account>) -> Setting {
        let read = |texts: &[String]| {
            let pattern = |text: &String| Ruled::default_of(HostPattern::parse(text).unwrap());
            texts.iter().map(pattern).collect::<Vec<_>>()
        };
        let mut allow = read(&self.allow);
        allow.extend(read(&self.ask));
        let (ask, deny) = (read(&self.ask), read(&self.deny));
        Setting {
            network: Network::Hosts(Hosts { allow, ask, deny, presets: Vec::new() }),
            presets: PresetHosts::new(),
            consent: Ruled::default_of(self.consent),
            secrets: Vec::new(),
            authority: None,
            limits: self.limits.clone(),
            account: Arc::clone(account),
            token: self.token.clone(),
        }
    }

    fn desk(&self) -> Arc<Recorder> {
        let (answer, delay) = (self.answer.clone(), self.delay);
        let (asked, withdrawn) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Recorder { events: Mutex::default(), asked, withdrawn, answer, delay })
    }

    /// Opens the gate as in a sandbox.
    pub(crate) fn open(self) -> Running {
        let account = Arc::new(Account::default());
        let setting = self.setting(&account);
        let layout = Layout::of(&setting.network, &setting.presets);
        let mut at = BTreeMap::new();
        let mut sockets: Vec<OwnedFd> = Vec::new();
        for &(socket, udp) in &layout.sockets {
            let mut real = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            if socket.ip() == IpAddr::V6(Ipv6Addr::LOCALHOST) {
                real = socket;
            }
            if udp {
                let bound = UdpSocket::bind(real).unwrap();
                at.insert((socket, udp), bound.local_addr().unwrap());
                sockets.push(bound.into());
            } else {
                let bound = TcpListener::bind(real).unwrap();
                at.insert((socket, udp), bound.local_addr().unwrap());
                sockets.push(bound.into());
            }
        }
        let proxy = at[&(SocketAddr::from((Ipv4Addr::LOCALHOST, layout.proxy)), false)];
        let desk = self.desk();
        let gate = Gate::open(setting, layout, sockets, desk.clone()).unwrap();
        Running { gate, desk, account, proxy, at }
    }

    /// Opens the gate as a proxy on the host.
    pub(crate) fn on_host(self) -> Running {
        let account = Arc::new(Account::default());
        let desk = self.desk();
        let (gate, port) = Gate::on_host(self.setting(&account), desk.clone()).unwrap();
        let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Running { gate, desk, account, proxy, at: BTreeMap::new() }
    }
}

impl Running {
    /// Connects to the proxy.
    pub(crate) fn proxy(&self) -> TcpStream {
        connect(self.proxy)
    }

    /// Connects to a listed port of the host, as a program inside does.
    pub(crate) fn local(&self, port: u16) -> TcpStream {
        connect((Ipv6Addr::LOCALHOST, port).into())
    }

    /// Asks the proxy for a tunnel, and returns it with the answer's first line.
    pub(crate) fn tunnel(&self, to: impl ToString) -> (TcpStream, String) {
        let mut stream = self.proxy();
        let to = to.to_string();
        say(&mut stream, format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n"));
        let head = read_head(&mut stream);
        let line = head.lines().next().unwrap_or_default().to_owned();
        (stream, line)
    }
}

pub(crate) fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.set_write_timeout(Some(SOON)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

pub(crate) fn say(stream: &mut TcpStream, text: impl AsRef<[u8]>) {
    stream.write_all(text.as_ref()).unwrap();
}

/// Reads until the stream ends; an end by force counts as one.
pub(crate) fn read_all(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}, after {:?}", String::from_utf8_lossy(&all)),
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Reads a head, byte for byte, and what is said after it stays.
pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Reads that many bytes.
pub(crate) fn read_exactly(stream: &mut TcpStream, count: usize) -> String {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns whether the stream was cut, and not just ended.
pub(crate) fn is_cut(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset)
}

/// A server in a thread, which ends with it.
pub(crate) struct Server {
    pub(crate) at: SocketAddr,
    /// What clients have said, each in one text.
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
    pub(crate) connections: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves each connection on a thread of its own.
    pub(crate) fn new(
        ip: impl Into<IpAddr>,
        serve: impl Fn(TcpStream, &dyn Fn(&[u8])) + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind((ip.into(), 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let connections = Arc::new(AtomicUsize::new(0));
        let (stopped, hears, count) = (stop.clone(), heard.clone(), connections.clone());
        let serve = Arc::new(serve);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                count.fetch_add(1, Ordering::SeqCst);
                let index = {
                    let mut heard = hears.lock().unwrap();
                    heard.push(String::new());
                    heard.len() - 1
                };
                let (serve, hears) = (serve.clone(), hears.clone());
                std::thread::spawn(move || {
                    stream.set_read_timeout(Some(SOON)).unwrap();
                    serve(stream, &|bytes| {
                        let text = String::from_utf8_lossy(bytes);
                        hears.lock().unwrap()[index].push_str(&text);
                    });
                });
            }
        });
        Server { at, heard, connections, stop, thread: Some(thread) }
    }

    /// Sends back what it hears.
    pub(crate) fn echo(ip: impl Into<IpAddr>) -> Server {
        Server::new(ip, |mut stream, hear| {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                hear(&buffer[..count]);
                if stream.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
        })
    }

    /// Answers each head it hears with its name.
    pub(crate) fn http(ip: impl Into<IpAddr>, name: &'static str) -> Server {
        Server::new(ip, move |mut stream, hear| {
            let mut text = Vec::new();
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                hear(&buffer[..count]);
                text.extend_from_slice(&buffer[..count]);
                while let Some(end) = text.windows(4).position(|four| four == b"\r\n\r\n") {
                    text.drain(..end + 4);
                    let length = name.len();
                    let answer =
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{name}");
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            }
        })
    }

    /// Returns what was heard by now, waiting until all that is wanted is there.
    pub(crate) fn heard(&self, want: &str) -> String {
        let end = Instant::now() + SOON;
        loop {
            let heard = self.heard.lock().unwrap().join("|");
            if heard.contains(want) {
                return heard;
            }
            assert!(Instant::now() < end, "{want:?} was not heard in {heard:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.at);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
