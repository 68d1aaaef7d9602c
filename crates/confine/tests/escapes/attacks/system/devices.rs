//! Opens disks and devices of the machine for reading.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/devices",
    what: "opens devices of the machine",
    attempt: |_| {
        Outcome::any(
            [
                "sda",
                "vda",
                "nvme0n1",
                "xvda",
                "dm-0",
                "loop0",
                "loop-control",
                "mapper/control",
                "kvm",
                "fuse",
                "net/tun",
                "vhost-vsock",
                "vhost-net",
                "uinput",
                "input/event0",
                "snapshot",
                "hpet",
                "rtc0",
                "autofs",
                "cuse",
                "btrfs-control",
                "cpu/0/msr",
                "vsock",
                "userfaultfd",
                "snd/seq",
                "dri/card0",
            ]
            .map(|name| Outcome::of(name, sys::open_for_reading(Path::new("/dev").join(name)))),
        )
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
