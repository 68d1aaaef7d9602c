//! Presets on made-up machines: a home directory, a system, programs that are
//! small scripts, and indexes on this machine's loopback.

mod dart;
mod dotnet;
mod go;
mod index;
mod java;
mod node;
mod php;
mod python;
mod real;
mod ruby;
mod rust;
mod trust;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tempfile::TempDir;

use super::run::{self, Run};
use super::{Ask, Machine, PresetFound, Runner};

/// A made-up machine.
pub(super) struct Stage {
    pub(super) dir: TempDir,
    pub(super) machine: Machine,
}

impl Stage {
    /// A machine with nothing on it, and without a network.
    pub(super) fn new() -> Stage {
        let dir = tempfile::tempdir().expect("dir");
        let at = |name: &str| {
            let path = dir.path().join(name);
            fs::create_dir(&path).expect("dir");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("mode");
            path
        };
        let machine = Machine {
            env: BTreeMap::new(),
            home: at("home"),
            root: at("root"),
            path: vec![at("bin")],
            cache: Some(at("cache")),
            untrusted: Vec::new(),
            online: false,
            runner: None,
        };
        let place = dir.path().to_owned();
        // What is asked here was made up by the tests.
        let runner = Runner::new(move |ask| {
            let Ask { program, args, env, files, limit } = ask;
            let run = Run { program, args, env, files, limit: *limit };
            run::run(&run, &place).map_err(|fault| fault.to_string())
        });
        let machine = Machine { runner: Some(runner), ..machine };
        Stage { dir, machine }
    }

    /// Puts a file into the home directory.
    pub(super) fn home(self, path: &str, text: &str) -> Stage {
        put(&self.machine.home.join(path), text);
        self
    }

    /// Puts a file into the system.
    pub(super) fn system(self, path: &str, text: &str) -> Stage {
        put(&self.machine.root.join(path), text);
        self
    }

    /// Sets a variable.
    pub(super) fn var(mut self, name: &str, value: &str) -> Stage {
        self.machine.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Installs a program: a script that has nothing but the shell itself.
    pub(super) fn program(self, name: &str, script: &str) -> Stage {
        write_program(&self.path().join(name), script);
        self
    }

    /// Lets indexes be asked.
    pub(super) fn online(mut self) -> Stage {
        self.machine.online = true;
        self
    }

    pub(super) fn path(&self) -> PathBuf {
        self.machine.path.first().expect("a directory").clone()
    }

    pub(super) fn find(&self, preset: &str) -> PresetFound {
        let mut found = super::find(&[preset], &self.machine);
        found.presets.remove(preset).expect("a preset")
    }

    /// Returns the hosts as `HOST:PORT FROM`, with paths of the system as they
    /// would be.
    pub(super) fn hosts(&self, preset: &str) -> Vec<String> {
        self.shown(&self.find(preset))
    }

    pub(super) fn shown(&self, found: &PresetFound) -> Vec<String> {
        let root = self.machine.root.to_string_lossy().into_owned();
        let line = |host: &super::FoundHost| format!("{} {}", host.pattern, host.from);
        found.hosts.iter().map(|host| line(host).replace(&root, "")).collect()
    }
}

pub(super) fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("parent")).expect("dir");
    fs::write(path, text).expect("write");
}

pub(super) fn write_program(path: &Path, script: &str) {
    put(path, &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("mode");
}

/// Returns variables as `NAME=VALUE`.
pub(super) fn env(found: &PresetFound) -> Vec<String> {
    found.env.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// Returns the text of a file that is made inside.
pub(super) fn file<'f>(found: &'f PresetFound, path: &str) -> &'f str {
    let file = found.files.iter().find(|(own, _)| own == path);
    file.map_or("", |(_, text)| text.as_str())
}

/// Returns whether a text is anywhere in what was found.
pub(super) fn holds(found: &PresetFound, text: &str) -> bool {
    format!("{found:?}").contains(text)
}

/// A web server on the loopback.
pub(super) struct Site {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    stop: Arc<std::sync::atomic::AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    /// Serves what `answer` makes of a request's head: a whole response.
    pub(super) fn serve(answer: impl Fn(&str) -> String + Send + 'static) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = listener.local_addr().expect("address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (heads, ending) = (Arc::clone(&asked), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for socket in listener.incoming() {
                if ending.load(std::sync::atomic::Ordering::SeqCst) {
                    return;
                }
                let Ok(mut socket) = socket else { continue };
                let head = read_head(&mut socket);
                let response = answer(&head);
                heads.lock().expect("lock").push(head);
                let _ = socket.write_all(response.as_bytes());
            }
        });
        Site { address, asked, stop, thread: Some(thread) }
    }

    /// Serves pages by path; everything else is not found.
    pub(super) fn pages(pages: &[(&str, &str)]) -> Site {
        let own = |(path, body): &(&str, &str)| ((*path).to_owned(), (*body).to_owned());
        let pages: BTreeMap<String, String> = pages.iter().map(own).collect();
        Site::serve(move |head| match pages.get(path_of(head)) {
            Some(body) => page(body),
            None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
        })
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the heads of all requests so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("lock").clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.store(true, std::sync::atomic::Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read_head(socket: &mut TcpStream) -> String {
    let _ = socket.set_read_timeout(Some(std::time::Duration::from_secs(10)));
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) == 1 {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

pub(super) fn path_of(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

pub(super) fn page(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

pub(super) fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
}
