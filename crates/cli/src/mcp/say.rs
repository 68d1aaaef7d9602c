//! What the server says on standard error, for whoever reads it: a client that does
//! not must not stop it.

use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};

use zonekeep::approve::visible;

/// The most lines that wait to be read.
const MAX_WAITING: usize = 256;

/// Says something, unless too much waits to be read already.
pub(super) fn say(text: &str) {
    static MOUTH: OnceLock<Option<SyncSender<String>>> = OnceLock::new();
    let mouth = MOUTH.get_or_init(|| {
        let (mouth, lines) = sync_channel::<String>(MAX_WAITING);
        let thread = std::thread::Builder::new().name("say".into());
        let spawned = thread.spawn(move || {
            for line in lines {
                tell!("zonekeep: {line}");
            }
        });
        spawned.ok().map(|_| mouth)
    });
    if let Some(mouth) = mouth {
        let _ = mouth.try_send(visible(text));
    }
}
