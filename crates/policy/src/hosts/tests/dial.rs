//! Where permits lead.

use std::net::IpAddr;

use super::*;

/// Returns what becomes of an address under the permit for a destination.
fn dial(list: &str, given: &PresetHosts, host: &str, ip: &str) -> Result<(), &'static str> {
    let judgement = judge_connect(&network(list), given, &Ruled::default(), &to(host));
    let permit = match judgement.verdict {
        ConnectVerdict::Allow(permit) => permit,
        ConnectVerdict::Ask(question) => question.approved(),
        ConnectVerdict::Deny(denial) => panic!("{denial}"),
    };
    let ip: IpAddr = ip.parse().unwrap();
    permit.may_dial(ip)
}

#[test]
fn names_lead_to_the_network_at_large_and_nowhere_else() {
    let cases = [
        ("203.0.113.7", Ok(())),
        ("198.51.100.7", Ok(())),
        ("192.0.2.1", Ok(())),
        ("9.9.9.9", Ok(())),
        ("2001:db8::1", Ok(())),
        ("2606:4700::1", Ok(())),
        ("0.0.0.0", Err("unspecified")),
        ("0.1.2.3", Err("reserved")),
        ("10.0.0.0", Err("private")),
        ("10.255.255.255", Err("private")),
        ("11.0.0.0", Ok(())),
        ("172.15.255.255", Ok(())),
        ("172.16.0.1", Err("private")),
        ("172.31.255.255", Err("private")),
        ("172.32.0.0", Ok(())),
        ("192.168.1.1", Err("private")),
        ("192.169.0.0", Ok(())),
        ("100.63.255.255", Ok(())),
        ("100.64.0.1", Err("shared")),
        ("100.127.255.255", Err("shared")),
        ("100.128.0.0", Ok(())),
        ("100.100.100.200", Err("metadata")),
        ("127.0.0.1", Err("loopback")),
        ("127.255.255.254", Err("loopback")),
        ("169.254.1.1", Err("link-local")),
        ("169.254.169.254", Err("metadata")),
        ("169.254.170.2", Err("metadata")),
        ("168.63.129.16", Err("metadata")),
        ("168.63.129.17", Ok(())),
        ("192.0.0.1", Err("reserved")),
        ("192.0.0.192", Err("metadata")),
        ("192.88.99.1", Err("reserved")),
        ("198.17.255.255", Ok(())),
        ("198.18.0.1", Err("benchmarking")),
        ("198.19.255.255", Err("benchmarking")),
        ("198.20.0.0", Ok(())),
        ("224.0.0.1", Err("multicast")),
        ("239.255.255.255", Err("multicast")),
        ("240.0.0.1", Err("reserved")),
        ("255.255.255.254", Err("reserved")),
        ("255.255.255.255", Err("broadcast")),
        ("::", Err("unspecified")),
        ("::1", Err("loopback")),
        ("fc00::1", Err("private")),
        ("fdff::1", Err("private")),
        ("fd00:ec2::254", Err("metadata")),
        ("fe80::1", Err("link-local")),
        ("febf::1", Err("link-local")),
        ("fec0::1", Err("site-local")),
        ("ff02::1", Err("multicast")),
        ("100::1", Err("reserved")),
        ("4000::1", Err("reserved")),
        ("2001:2::1", Err("benchmarking")),
        ("64:ff9b:1::1", Err("private")),
    ];
    for (ip, want) in cases {
        assert_eq!(dial("a.test", &PresetHosts::new(), "a.test", ip), want, "{ip}");
    }
}

#[test]
fn addresses_inside_addresses_count() {
    let cases = [
        // Mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP.
        ("::ffff:127.0.0.1", Err("loopback")),
        ("::ffff:10.0.0.1", Err("private")),
        ("::ffff:169.254.169.254", Err("metadata")),
        ("::ffff:203.0.113.7", Ok(())),
        ("::127.0.0.1", Err("loopback")),
        ("::10.0.0.1", Err("private")),
        ("::ffff:0:127.0.0.1", Err("loopback")),
        ("64:ff9b::127.0.0.1", Err("loopback")),
        ("64:ff9b::10.0.0.1", Err("private")),
        ("64:ff9b::169.254.169.254", Err("metadata")),
        ("64:ff9b::0.0.0.0", Err("unspecified")),
        ("64:ff9b::203.0.113.7", Ok(())),
        ("2002:7f00:1::1", Err("loopback")),
        ("2002:a00:1::1", Err("private")),
        ("2002:a9fe:a9fe::1", Err("metadata")),
        ("2002:cb00:7107::1", Ok(())),
        // The server is 203.0.113.7, the client 10.0.0.1 turned over.
        ("2001:0:cb00:7107::f5ff:fffe", Err("private")),
        ("2001:0:a00:1::34ff:8ef8", Err("private")),
        ("2001:0:cb00:7107::34ff:8ef8", Ok(())),
        ("2001:db8::5efe:10.0.0.1", Err("private")),
        ("2001:db8::200:5efe:127.0.0.1", Err("loopback")),
        ("2001:db8::5efe:203.0.113.7", Ok(())),
    ];
    for (ip, want) in cases {
        assert_eq!(dial("a.test", &PresetHosts::new(), "a.test", ip), want, "{ip}");
    }
}

#[test]
fn lists_open_private_addresses_by_port_and_the_strictest_only_one_by_one() {
    let cases = [
        ("a.test 10.0.0.0/8", "a.test", "10.1.2.3", Ok(())),
        ("a.test 10.0.0.0/8", "a.test:80", "10.1.2.3", Ok(())),
        ("a.test 10.0.0.0/8:443", "a.test:80", "10.1.2.3", Err("private")),
        ("a.test:5432 10.0.0.0/8", "a.test:5432", "10.1.2.3", Err("private")),
        ("a.test:5432 10.0.0.0/8:5432", "a.test:5432", "10.1.2.3", Ok(())),
        ("a.test 10.1.2.3", "a.test", "10.1.2.3", Ok(())),
        ("a.test 10.1.2.3", "a.test", "10.1.2.4", Err("private")),
        ("a.test 10.0.0.0/8", "a.test", "192.168.0.1", Err("private")),
        ("a.test 10.0.0.0/8", "a.test", "::ffff:10.1.2.3", Ok(())),
        ("a.test 10.0.0.0/8", "a.test", "64:ff9b::10.1.2.3", Err("private")),
        ("a.test 64:ff9b::/96", "a.test", "64:ff9b::10.1.2.3", Ok(())),
        ("a.test 64:ff9b::/96", "a.test", "64:ff9b::127.0.0.1", Err("loopback")),
        ("a.test 64:ff9b::/96", "a.test", "64:ff9b::169.254.169.254", Err("metadata")),
        ("a.test fd00::/8", "a.test", "fd00::5", Ok(())),
        ("a.test fd00::/8", "a.test", "fd00:ec2::254", Err("metadata")),
        ("a.test fd00:ec2::254", "a.test", "fd00:ec2::254", Ok(())),
        ("a.test 169.254.0.0/16", "a.test", "169.254.9.9", Ok(())),
        ("a.test 169.254.0.0/16", "a.test", "169.254.169.254", Err("metadata")),
        ("a.test 169.254.169.254", "a.test", "169.254.169.254", Ok(())),
        ("a.test 168.0.0.0/8", "a.test", "168.63.129.16", Err("metadata")),
        ("a.test 100.64.0.0/10", "a.test", "100.64.1.1", Ok(())),
        ("a.test 100.64.0.0/10", "a.test", "100.100.100.200", Err("metadata")),
        ("a.test 198.18.0.0/15", "a.test", "198.18.0.1", Ok(())),
        ("a.test 127.0.0.1", "a.test", "127.0.0.1", Ok(())),
        ("a.test 127.0.0.1", "a.test", "127.0.0.2", Err("loopback")),
        ("a.test 127.0.0.1:8080", "a.test", "127.0.0.1", Err("loopback")),
        ("a.test ::/16", "a.test", "::1", Err("loopback")),
        ("a.test 224.0.0.0/8", "a.test", "224.0.0.1", Err("multicast")),
        ("a.test 224.0.0.1 255.255.255.255", "a.test", "255.255.255.255", Err("broadcast")),
        ("a.test localhost", "a.test", "127.0.0.1", Err("loopback")),
    ];
    for (list, host, ip, want) in cases {
        assert_eq!(dial(list, &PresetHosts::new(), host, ip), want, "{list}: {host} {ip}");
    }
}

#[test]
fn localhost_leads_to_the_machine_and_an_address_to_itself() {
    let cases = [
        ("localhost:5432", "localhost:5432", "127.0.0.1", Ok(())),
        ("localhost:5432", "host.zonekeep:5432", "::1", Ok(())),
        ("localhost:5432", "localhost:5432", "::ffff:127.0.0.1", Ok(())),
        ("localhost:5432", "localhost:5432", "203.0.113.7", Err("not loopback")),
        ("localhost:5432 10.0.0.0/8:5432", "localhost:5432", "10.1.2.3", Err("not loopback")),
        ("localhost:5432 -[::1]:5432", "localhost:5432", "::1", Err("refused")),
        ("localhost:5432 -[::1]:5432", "localhost:5432", "127.0.0.1", Ok(())),
        ("203.0.113.7", "203.0.113.7", "203.0.113.7", Ok(())),
        ("203.0.113.7 203.0.113.8", "203.0.113.7", "203.0.113.8", Err("another address")),
        ("127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1", Ok(())),
        ("10.0.0.0/8", "10.1.2.3", "10.1.2.3", Ok(())),
    ];
    for (list, host, ip, want) in cases {
        assert_eq!(dial(list, &PresetHosts::new(), host, ip), want, "{list}: {host} {ip}");
    }
}

#[test]
fn refused_and_asked_about_addresses_stay_so_behind_a_name() {
    let cases = [
        ("a.test -203.0.113.7", "a.test", "203.0.113.7", Err("refused")),
        ("a.test -203.0.113.7:22", "a.test", "203.0.113.7", Ok(())),
        ("a.test -203.0.113.0/24", "a.test", "64:ff9b::203.0.113.7", Err("refused")),
        ("a.test 10.0.0.0/8 -10.1.2.3", "a.test", "10.1.2.3", Err("refused")),
        ("a.test 127.0.0.1 -localhost", "a.test", "127.0.0.1", Err("refused")),
        ("a.test ?203.0.113.7", "a.test", "203.0.113.7", Err("asked about")),
        ("a.test ?203.0.113.7:22", "a.test", "203.0.113.7", Ok(())),
        ("a.test ?10.0.0.0/8", "a.test", "10.1.2.3", Err("asked about")),
        ("?a.test ?10.0.0.0/8", "a.test", "10.1.2.3", Err("asked about")),
        ("a.test ?10.0.0.0/8", "10.1.2.3", "10.1.2.3", Ok(())),
    ];
    for (list, host, ip, want) in cases {
        assert_eq!(dial(list, &PresetHosts::new(), host, ip), want, "{list}: {host} {ip}");
    }
}

#[test]
fn a_presets_addresses_count_and_a_network_without_a_list_leads_anywhere() {
    let given = presets(&[("python", &["index.test", "10.0.0.0/8"])]);
    assert_eq!(dial("@python", &given, "index.test", "10.1.2.3"), Ok(()));
    assert_eq!(dial("@python", &given, "index.test", "192.168.0.1"), Err("private"));
    let others = presets(&[("node", &["10.0.0.0/8"]), ("python", &["index.test"])]);
    assert_eq!(dial("@python", &others, "index.test", "10.1.2.3"), Err("private"));
    assert_eq!(dial("on", &PresetHosts::new(), "a.test", "127.0.0.1"), Ok(()));
}
