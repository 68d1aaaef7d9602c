//! The socket between the client library and the gate, both in this process.
//!
//! The library connects by an address and takes no socket that is connected
//! already. On Linux the address is an abstract name: no directory holds it, so
//! that a command that can write where `TMPDIR` leads cannot put a socket of its
//! own there and speak as the model. The kernel keeps the name for this listener
//! as long as it is open, and a connection of any other process is closed before
//! a byte is read.

use std::io;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// A listener that lets in one connection of this process.
pub(super) struct Door {
    listener: UnixListener,
    address: PathBuf,
    /// The private directory of the socket, where sockets need a path.
    #[cfg(not(target_os = "linux"))]
    _dir: tempfile::TempDir,
}

impl Door {
    #[cfg(target_os = "linux")]
    pub(super) fn open() -> io::Result<Self> {
        use std::os::unix::ffi::OsStringExt;

        let random = getrandom::u64().map_err(io::Error::other)?;
        let more = getrandom::u64().map_err(io::Error::other)?;
        let name = format!("\0zonekeep-model-{random:016x}{more:016x}");
        let address = PathBuf::from(std::ffi::OsString::from_vec(name.into_bytes()));
        Ok(Door { listener: UnixListener::bind(&address)?, address })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open() -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("zonekeep-model-").tempdir()?;
        let address = dir.path().join("gate");
        Ok(Door { listener: UnixListener::bind(&address)?, address, _dir: dir })
    }

    /// Returns the address to connect to.
    pub(super) fn address(&self) -> &Path {
        &self.address
    }

    /// Waits for the connection of this process, and closes the door behind it.
    pub(super) async fn accept(self) -> io::Result<UnixStream> {
        let own = i32::try_from(std::process::id()).ok();
        loop {
            let (stream, _) = self.listener.accept().await?;
            let peer = stream.peer_cred().ok().and_then(|peer| peer.pid());
            if own.is_some() && peer == own {
                return Ok(stream);
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use std::process::{Command, Stdio};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Connects to the abstract name in its argument and prints how many bytes came
    /// before the end; prints a line once it is connected.
    const STRANGER: &str = "import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect('\\0' + sys.argv[1])
print('connected', flush=True)
try:
    print(len(s.recv(1)), flush=True)
except ConnectionResetError:
    print(0, flush=True)
";

    fn run<T>(future: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(future)
    }

    #[test]
    fn the_door_has_no_path() {
        run(async {
            let door = Door::open().unwrap();
            let address = door.listener.local_addr().unwrap();
            assert_eq!(address.as_pathname(), None);
            assert_eq!(
                address.as_abstract_name().unwrap(),
                &door.address.as_os_str().as_encoded_bytes()[1..]
            );
            let taken = UnixListener::bind(&door.address).unwrap_err();
            assert_eq!(taken.kind(), io::ErrorKind::AddrInUse, "nobody else can have the name");
        });
    }

    #[test]
    fn another_process_is_not_let_in() {
        if Command::new("python3").arg("-c").arg("").status().is_err() {
            zonekeep_testkit::skip("needs python3");
            return;
        }
        run(async {
            let door = Door::open().unwrap();
            let name = door.address.to_str().unwrap()[1..].to_owned();
            let address = door.address.clone();
            // The stranger is first in line, before anything is accepted.
            let mut stranger = Command::new("python3")
                .args(["-c", STRANGER, &name])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut said = std::io::BufReader::new(stranger.stdout.take().unwrap());
            let mut line = String::new();
            std::io::BufRead::read_line(&mut said, &mut line).unwrap();
            assert_eq!(line, "connected\n", "without the check it would be the library");
            let mut own = UnixStream::connect(&address).await.unwrap();
            let mut library = door.accept().await.unwrap();
            own.write_all(b"own").await.unwrap();
            let mut heard = [0; 3];
            library.read_exact(&mut heard).await.unwrap();
            assert_eq!(&heard, b"own");
            line.clear();
            std::io::BufRead::read_line(&mut said, &mut line).unwrap();
            assert_eq!(line, "0\n", "the stranger is told nothing");
            assert!(stranger.wait().unwrap().success());
        });
    }
}
