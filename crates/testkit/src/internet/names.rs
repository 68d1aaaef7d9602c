//! The names of the made-up Internet, and where they lead.

/// The address of the host that Zonekeep runs on.
pub const HOST: [&str; 2] = ["192.0.2.2", "2001:db8:a::2"];

/// The address of a second host on the same network, for controls.
pub const CONTROL: [&str; 2] = ["192.0.2.6", "2001:db8:c::2"];

/// The name server that the host asks.
pub const RESOLVER: &str = "203.0.113.53";

/// Where [`denied.test`](NAMES) is. Nothing is ever sent there from the host.
pub const DENIED: [&str; 2] = ["203.0.113.20", "2001:db8::20"];

/// Where a name is that only the host's own file of hosts has: `hosts.test`.
pub const IN_FILE: &str = "203.0.113.14";

/// Each name with what the name server answers. More than one set is for more
/// than one question: the sets take turns.
pub const NAMES: &[(&str, &[&[&str]])] = &[
    ("allowed.test", &[&["203.0.113.10", "2001:db8::10"]]),
    ("www.allowed.test", &[&["203.0.113.11"]]),
    ("*.allowed.test", &[&["203.0.113.12"]]),
    ("xn--bcher-kva.test", &[&["203.0.113.13"]]),
    ("denied.test", &[&DENIED]),
    ("www.denied.test", &[&DENIED]),
    ("*.denied.test", &[&DENIED]),
    ("pkg.test", &[&["203.0.113.30"]]),
    ("git.test", &[&["203.0.113.40"]]),
    ("db.test", &[&["203.0.113.50"]]),
    ("h2.test", &[&["203.0.113.60"]]),
    ("api.test", &[&["203.0.113.61"]]),
    // Below this one are all names that do not exist otherwise: the host looks
    // there for what it does not find.
    ("*.search.test", &[&["203.0.113.80"]]),
    // Names that lead where no command may go.
    ("private.test", &[&["10.0.0.5"]]),
    ("lan.test", &[&["192.168.1.1"]]),
    ("lan172.test", &[&["172.16.0.9"]]),
    ("cgnat.test", &[&["100.64.0.1"]]),
    ("linklocal.test", &[&["169.254.7.7"]]),
    ("meta.test", &[&["169.254.169.254"]]),
    ("meta6.test", &[&["fd00:ec2::254"]]),
    ("wire.test", &[&["168.63.129.16"]]),
    ("loop.test", &[&["127.0.0.1"]]),
    ("loop6.test", &[&["::1"]]),
    ("zero.test", &[&["0.0.0.0"]]),
    ("zero6.test", &[&["::"]]),
    ("broadcast.test", &[&["255.255.255.255"]]),
    ("multicast.test", &[&["224.0.0.1"]]),
    ("bench.test", &[&["198.18.0.9"]]),
    ("ula.test", &[&["fd00::5"]]),
    ("mapped.test", &[&["::ffff:10.0.0.5"]]),
    ("nat64.test", &[&["64:ff9b::a00:5"]]),
    ("sixtofour.test", &[&["2002:a00:5::1"]]),
    ("teredo.test", &[&["2001:0:cb00:7135:0:0:f5ff:fffa"]]),
    ("sitelocal.test", &[&["fec0::5"]]),
    ("own.test", &[&[HOST[0]]]),
    ("own6.test", &[&[HOST[1]]]),
    ("mixed.test", &[&["203.0.113.70", "10.0.0.5"]]),
    // Names whose answers change.
    ("rebind.test", &[&["203.0.113.71"], &["10.0.0.5"]]),
    ("rebound.test", &[&["10.0.0.5"], &["203.0.113.72"]]),
    ("rebindlocal.test", &[&["203.0.113.73"], &["127.0.0.1"]]),
];
