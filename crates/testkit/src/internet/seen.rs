//! What arrived at the servers.

use std::fs;
use std::io::{Read, Seek, SeekFrom};

use serde_json::Value;

use super::{DENIED, Internet, Side, eventually};

/// A place in the servers' log.
#[derive(Debug, Clone, Copy)]
pub struct Mark(u64);

/// One thing that a server saw.
#[derive(Debug, Clone)]
pub struct Seen(Value);

impl Seen {
    /// Returns what it is: `packet`, `tcp`, `tls`, `raw`, `http`, `dns`,
    /// `dns-stream` or `udp`.
    pub fn kind(&self) -> &str {
        self.text("kind")
    }

    /// Returns whether it came from the host that Zonekeep runs on.
    pub fn from_host(&self) -> bool {
        self.text("from") == "host"
    }

    /// Returns whether it arrived at a server beyond, not at the host itself.
    pub fn beyond(&self) -> bool {
        self.text("at") == "beyond"
    }

    /// Returns a value as text; empty where there is none.
    pub fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_default()
    }

    /// Returns the port it arrived at; 0 where there is none.
    pub fn port(&self) -> u64 {
        self.0["port"].as_u64().unwrap_or_default()
    }

    /// Returns a header of a request.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0["headers"][name].as_str()
    }
}

impl Internet {
    /// Returns the end of the log.
    pub fn mark(&self) -> Mark {
        // The last line may be about to be written.
        let log = fs::read(self.log()).unwrap();
        Mark(log.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end as u64 + 1))
    }

    /// Returns everything that was seen since the mark, by whoever sent it.
    pub fn since(&self, mark: Mark) -> Vec<Seen> {
        let mut file = fs::File::open(self.log()).unwrap();
        file.seek(SeekFrom::Start(mark.0)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        // The last line may be about to be written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| Seen(serde_json::from_str(line).unwrap())).collect()
    }

    /// Returns what was seen of the host since the mark, after everything that
    /// is on its way has arrived.
    pub fn of_host(&self, mark: Mark) -> Vec<Seen> {
        self.settle();
        self.since(mark).into_iter().filter(Seen::from_host).collect()
    }

    /// Returns everything that was ever seen of the host.
    pub fn all_of_host(&self) -> Vec<Seen> {
        self.of_host(self.start_of_log())
    }

    /// Returns the start of the log.
    pub fn start_of_log(&self) -> Mark {
        Mark(0)
    }

    /// Returns what was ever sent from the host to the denied name: nothing, or
    /// Zonekeep has failed.
    pub fn ever_denied(&self) -> Vec<Seen> {
        let mut seen = self.all_of_host();
        seen.retain(|one| DENIED.contains(&one.text("to")));
        seen
    }

    /// Waits until what was sent before has been written down: packets are
    /// written down in order, so one of our own is the last to come.
    pub fn settle(&self) {
        let number = {
            let mut marks = self.marks.lock().unwrap();
            *marks += 1;
            *marks
        };
        let (mark, name) = (self.mark(), format!("settled-{number}."));
        let mut command = self.enter(Side::Control);
        command.args(["bash", "-c", "printf %s \"$0\" >/dev/udp/203.0.113.99/9", &name]);
        assert!(command.status().unwrap().success());
        eventually("the end of the log", || {
            self.since(mark).iter().any(|seen| seen.text("data").starts_with(&name)).then_some(())
        });
    }

    pub(super) fn log(&self) -> std::path::PathBuf {
        self.dir.path().join("log.jsonl")
    }
}
