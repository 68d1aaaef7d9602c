//! Connects to the services that run a host: buses, container engines, journals,
//! agents.

use std::os::unix::net::{UnixDatagram, UnixStream};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/services",
    what: "connects to the host's services",
    attempt: |_| {
        Outcome::any(
            [
                "/run/dbus/system_bus_socket",
                "/var/run/dbus/system_bus_socket",
                "/run/docker.sock",
                "/var/run/docker.sock",
                "/run/containerd/containerd.sock",
                "/run/podman/podman.sock",
                "/run/systemd/private",
                "/run/systemd/journal/socket",
                "/run/systemd/journal/stdout",
                "/dev/log",
                "/run/snapd.socket",
                "/run/crio/crio.sock",
                "/var/run/postgresql/.s.PGSQL.5432",
                "/run/nscd/socket",
                "/run/user/0/bus",
                "/run/user/1000/bus",
                "/tmp/.X11-unix/X0",
            ]
            .map(|path| {
                Outcome::any([
                    Outcome::of(path, UnixStream::connect(path)),
                    Outcome::of(
                        path,
                        UnixDatagram::unbound().and_then(|socket| socket.connect(path)),
                    ),
                ])
            }),
        )
    },
    control: Control::Depends("no such service runs here"),
    held_by: OWN_TREE,
    ..BASE
};
