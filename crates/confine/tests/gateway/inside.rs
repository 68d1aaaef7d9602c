//! What runs in the sandbox.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};
use rustix::process::{Resource, Rlimit};

/// How long anything may take here.
const SOON: Duration = Duration::from_secs(60);

pub(crate) fn main(words: &[String]) {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["flood", to, count] => flood(to.parse().unwrap(), count.parse().unwrap()),
        ["udp", to] => udp(to.parse().unwrap()),
        ["try", ref all @ ..] => all.iter().for_each(|to| attempt(to)),
        ["rights"] => rights(),
        ["hold", to] => hold(to.parse().unwrap()),
        _ => panic!("{words:?}"),
    }
}

/// Connects many times at once, and stays until nothing more is asked.
fn flood(to: SocketAddr, count: usize) {
    const THREADS: usize = 20;
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let limit = Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(Resource::Nofile, limit).unwrap();
    let barrier = Barrier::new(THREADS);
    let connections: Vec<_> = thread::scope(|scope| {
        let connect = || {
            barrier.wait();
            let all = (0..count / THREADS).map(|_| TcpStream::connect_timeout(&to, SOON));
            all.collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(connect)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let failed = connections.iter().find_map(|result| result.as_ref().err());
    let good = connections.iter().filter(|result| result.is_ok()).count();
    println!("{good} {failed:?}");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Asks, and prints the answer.
fn udp(to: SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket.connect(to).unwrap();
    socket.send(b"question").unwrap();
    let mut answer = [0; 64];
    let length = socket.recv(&mut answer).unwrap();
    println!("{}", String::from_utf8_lossy(&answer[..length]));
}

/// Prints what comes of connecting, of sending (`udp:`) or of listening (`at:`).
fn attempt(to: &str) {
    let since = Instant::now();
    let result = match (to.strip_prefix("udp:"), to.strip_prefix("at:")) {
        (Some(to), _) => {
            let to: SocketAddr = to.parse().unwrap();
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            UdpSocket::bind(any).unwrap().send_to(b"x", to).map(drop)
        }
        (_, Some(at)) => TcpListener::bind(at).map(drop),
        _ => TcpStream::connect_timeout(&to.parse().unwrap(), SOON).map(drop),
    };
    let slow = since.elapsed() > SOON / 2;
    let result = result.map_err(|error| error.raw_os_error().unwrap_or(-1));
    println!("{to} {} {}", result.err().unwrap_or(0), if slow { "late" } else { "at once" });
}

/// Prints the rights of this process, and what comes of using them.
fn rights() {
    for of in ["self", "1"] {
        let status = fs::read_to_string(format!("/proc/{of}/status")).unwrap();
        status.lines().filter(|line| line.starts_with("Cap")).for_each(|line| println!("{line}"));
    }
    // A route to 203.0.113.0/24, added and changed, and loopback switched off.
    const ROUTE: [u8; 28] = [
        2, 24, 0, 0, 255, 4, 254, 2, 0, 0, 0, 0, 8, 0, 1, 0, 203, 0, 113, 0, 8, 0, 4, 0, 1, 0, 0, 0,
    ];
    const OFF: [u8; 16] = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    let asked = [("add", 24, 0x605, &ROUTE[..]), ("remove", 25, 5, &ROUTE), ("off", 16, 5, &OFF)];
    for (name, kind, flags, body) in asked {
        println!("{name} {}", ask(kind, flags, body));
    }
}

/// Asks the kernel for a change of the network; returns its error.
fn ask(kind: u16, flags: u16, body: &[u8]) -> i32 {
    let socket = rustix::net::socket(AddressFamily::NETLINK, SocketType::RAW, None).unwrap();
    let mut message = (16 + body.len() as u32).to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    let kernel = rustix::net::netlink::SocketAddrNetlink::new(0, 0);
    if let Err(error) = rustix::net::sendto(&socket, &message, SendFlags::empty(), &kernel) {
        return error.raw_os_error();
    }
    let mut answer = [0; 256];
    rustix::net::recv(&socket, &mut answer, RecvFlags::empty()).unwrap();
    -i32::from_ne_bytes(answer[16..20].try_into().unwrap())
}

/// Connects and stays.
fn hold(to: SocketAddr) {
    let mut connection = TcpStream::connect_timeout(&to, SOON).unwrap();
    connection.write_all(b"here").unwrap();
    println!("connected");
    thread::sleep(Duration::from_secs(60));
}
