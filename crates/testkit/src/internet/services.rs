//! Servers that others wrote, on the made-up Internet.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Internet, Side, eventually};
use crate::program;

/// A server that is started when a test first asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// OpenSSH, on port 22, with the repositories of `git.test`.
    Ssh,
    /// PostgreSQL, on port 5432.
    Postgres,
    /// Redis, on port 6379.
    Redis,
    /// HTTP/2 by Node: TLS on port 4430, without it on port 8082.
    Http2,
}

impl Service {
    fn port(self) -> u16 {
        match self {
            Service::Ssh => 22,
            Service::Postgres => 5432,
            Service::Redis => 6379,
            Service::Http2 => 4430,
        }
    }
}

impl Internet {
    /// Starts a server unless it runs already; says which program is missing.
    pub fn start(&self, service: Service) -> Result<(), String> {
        let mut services = self.services.lock().unwrap();
        if services.iter().any(|(have, _)| *have == service) {
            return Ok(());
        }
        let home = self.dir.path().join("services");
        let mut command = match service {
            Service::Ssh => self.ssh(&home)?,
            Service::Postgres => self.postgres(&home)?,
            Service::Redis => self.redis(&home)?,
            Service::Http2 => self.http2(&home)?,
        };
        let said = home.join(format!("{service:?}.log"));
        let log = fs::File::create(&said).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut child = command.spawn().unwrap();
        eventually(&format!("{service:?}"), || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("{service:?} ended: {status}\n{}", fs::read_to_string(&said).unwrap());
            }
            self.listens(service.port()).then_some(())
        });
        services.push((service, child));
        Ok(())
    }

    /// Returns whether something beyond accepts connections on a port.
    fn listens(&self, port: u16) -> bool {
        let mut command = self.enter(Side::Control);
        let dial = format!("exec 3<>/dev/tcp/203.0.113.99/{port}");
        command.args(["timeout", "5", "bash", "-c", &dial]).stderr(Stdio::null());
        command.status().unwrap().success()
    }

    /// Returns the key that the git server lets in.
    pub fn ssh_key(&self) -> PathBuf {
        self.dir.path().join("services/client_key")
    }

    fn ssh(&self, home: &Path) -> Result<Command, String> {
        let sshd = system("sshd")?;
        for key in ["host_key", "client_key"] {
            let mut make = self.enter(Side::Beyond);
            make.args(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f"]);
            assert!(make.arg(home.join(key)).status().unwrap().success());
        }
        let git = "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=*";
        let home_shown = home.display();
        let config = format!(
            "Port 22\nHostKey {home_shown}/host_key\nPidFile none\nUsePAM no\nStrictModes no\n\
             AuthorizedKeysFile {home_shown}/client_key.pub\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nSetEnv {git}\n"
        );
        fs::write(home.join("sshd_config"), config).unwrap();
        let mut command = self.enter(Side::Beyond);
        command.arg(sshd).args(["-D", "-e", "-f"]).arg(home.join("sshd_config"));
        Ok(command)
    }

    fn postgres(&self, home: &Path) -> Result<Command, String> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        let mut bins: Vec<PathBuf> = versions.map(|dir| dir.unwrap().path().join("bin")).collect();
        bins.retain(|bin| bin.join("initdb").exists());
        bins.sort();
        let bin = bins.pop().ok_or("there is no PostgreSQL server")?;
        let data = home.join("postgres");
        let mut make = self.enter(Side::Beyond);
        make.arg(bin.join("initdb")).args(["--auth=trust", "--username=agent", "--no-sync", "-D"]);
        let made = make.arg(&data).current_dir("/").env("LC_ALL", "C").output().unwrap();
        if !made.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let access = "host all all 0.0.0.0/0 trust\nhost all all ::/0 trust\n";
        fs::write(data.join("pg_hba.conf"), access).or_else(|_| self.put(&data, access)).unwrap();
        let mut command = self.enter(Side::Beyond);
        command.arg(bin.join("postgres")).arg("-D").arg(&data).arg("-k").arg(home);
        let tls = ["ssl=off", "listen_addresses=*", "fsync=off", "max_connections=20"];
        command.args(tls.iter().flat_map(|setting| ["-c", setting]));
        Ok(command)
    }

    /// Writes PostgreSQL's list of who may connect, as the user that it is.
    fn put(&self, data: &Path, access: &str) -> std::io::Result<()> {
        let mut command = self.enter(Side::Beyond);
        command.args(["sh", "-c", "printf %s \"$0\" >\"$1\"", access]);
        command.arg(data.join("pg_hba.conf")).status().map(|_| ())
    }

    fn redis(&self, home: &Path) -> Result<Command, String> {
        let mut command = self.enter(Side::Beyond);
        command.arg(system("redis-server")?).args(["--port", "6379", "--bind", "0.0.0.0"]);
        command.args(["--save", "", "--protected-mode", "no", "--dir"]).arg(home);
        Ok(command)
    }

    fn http2(&self, home: &Path) -> Result<Command, String> {
        let node = program("node").ok_or("there is no node")?;
        let file = home.join("http2.mjs");
        fs::write(&file, include_str!("world/http2.mjs")).unwrap();
        let mut command = self.enter(Side::Beyond);
        command.arg(node).arg(file).arg(self.dir.path()).arg(self.log());
        Ok(command)
    }
}

/// Returns where a program of the system is, also one that is for the superuser.
fn system(name: &str) -> Result<PathBuf, String> {
    let usual = ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map(|dir| Path::new(dir).join(name));
    let found = usual.into_iter().find(|file| file.exists()).or_else(|| program(name));
    found.ok_or_else(|| format!("there is no {name}"))
}
