//! The network.

use super::*;

#[test]
fn the_network_is_off_or_the_hosts() {
    let off = profile(&zones());
    let on = profile(&Plan { network: Network::Host, ..zones() });
    let cases = [
        ("network-outbound", "ip", false, true),
        ("network-bind", "ip", false, true),
        ("network-inbound", "ip", false, true),
        ("network-outbound", "/private/var/run/mDNSResponder", false, true),
        ("network-outbound", "/private/var/run/docker.sock", false, false),
        ("network-outbound", "/Users/me/out/s.sock", true, true),
        ("network-bind", "/private/var/zonekeep/1/tmp/s.sock", true, true),
        ("network-bind", "/Users/me/in/s.sock", false, false),
        ("mach-lookup", "com.apple.trustd.agent", false, true),
        ("mach-lookup", "com.apple.dnssd.service", false, true),
        ("mach-lookup", "com.apple.coreservices.launchservicesd", false, false),
        ("mach-lookup", "com.apple.system.opendirectoryd.libinfo", true, true),
        ("file-read-data", "/private/etc/hosts", false, true),
    ];
    for (operation, subject, in_off, in_on) in cases {
        let got = [&off, &on].map(|profile| allows(profile, operation, subject));
        assert_eq!(got, [in_off, in_on], "{operation} {subject}");
    }
    assert_snapshot!(
        parts(&on, &["network", "Names are", "Unix sockets", "Services of"]),
        @r#"
    ; Services of the system, by name.
    (allow mach-lookup
      ; the user's name and home directory
      (global-name "com.apple.system.opendirectoryd.libinfo")
      ; the groups of a user
      (global-name "com.apple.system.opendirectoryd.membership")
      ; when the time zone or users have changed
      (global-name "com.apple.system.notification_center"))
    (allow mach-lookup
      ; where names are looked up
      (global-name "com.apple.SystemConfiguration.DNSConfiguration")
      ; interfaces and proxies
      (global-name "com.apple.SystemConfiguration.configd")
      ; looks names up
      (global-name "com.apple.dnssd.service")
      ; checks certificates
      (global-name "com.apple.trustd")
      ; checks certificates, with what the user trusts
      (global-name "com.apple.trustd.agent"))

    ; No network, and no sockets of other programs: docker's would be the whole machine.
    (deny network*)

    ; The network of the host, with its loopback: macOS has no other.
    (allow network-outbound (remote ip))
    (allow network-bind (local ip))
    (allow network-inbound (local ip))
    (allow system-socket
      (socket-domain AF_INET)
      (socket-domain AF_INET6)
      (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))

    ; Names are looked up by a system service.
    (allow network-outbound
      (literal "/private/var/run/mDNSResponder"))

    ; Unix sockets where files can be written: programs talk to their own parts.
    (allow system-socket (socket-domain AF_UNIX))
    (allow network-bind
      (local unix-socket (subpath "/Users/me/out"))
      (local unix-socket (subpath (param "HOME")))
      (local unix-socket (subpath (param "PRIVATE_1"))))
    (allow network-outbound
      (remote unix-socket (subpath "/Users/me/out"))
      (remote unix-socket (subpath (param "HOME")))
      (remote unix-socket (subpath (param "PRIVATE_1"))))
    "#
    );
}

#[test]
fn a_list_of_hosts_is_one_port_of_the_loopback() {
    let gateway = Gateway { proxy: Some(4128), ..Gateway::default() };
    let gate = profile(&Plan { network: Network::Gate(gateway), ..zones() });
    let cases = [
        ("network-outbound", "ip localhost:4128", true),
        ("network-outbound", "ip localhost:4129", false),
        ("network-outbound", "ip 192.0.2.1:4128", false),
        ("network-outbound", "ip", false),
        ("network-bind", "ip localhost:4128", false),
        ("network-inbound", "ip localhost:4128", false),
        ("network-outbound", "/private/var/run/mDNSResponder", false),
        ("network-outbound", "/private/var/run/docker.sock", false),
        ("network-outbound", "/Users/me/out/s.sock", true),
        ("mach-lookup", "com.apple.trustd.agent", false),
        ("mach-lookup", "com.apple.dnssd.service", false),
        ("mach-lookup", "com.apple.SystemConfiguration.configd", false),
        ("file-read-data", "/private/etc/hosts", true),
    ];
    for (operation, subject, allowed) in cases {
        assert_eq!(allows(&gate, operation, subject), allowed, "{operation} {subject}");
    }
    assert_snapshot!(parts(&gate, &["network", "loopback", "A name that"]), @r#"
    ; No network, and no sockets of other programs: docker's would be the whole machine.
    (deny network*)

    ; One port of the host's loopback, where every connection is judged.
    (allow network-outbound (remote ip "localhost:4128"))
    (allow system-socket
      (socket-domain AF_INET)
      (socket-domain AF_INET6))

    ; A name that is looked up leaves the machine too.
    (deny network-outbound
      (literal "/private/var/run/mDNSResponder"))
    (deny mach-lookup
      ; where names are looked up
      (global-name "com.apple.SystemConfiguration.DNSConfiguration")
      ; interfaces and proxies
      (global-name "com.apple.SystemConfiguration.configd")
      ; looks names up
      (global-name "com.apple.dnssd.service")
      ; checks certificates
      (global-name "com.apple.trustd")
      ; checks certificates, with what the user trusts
      (global-name "com.apple.trustd.agent"))

    ; Unix sockets where files can be written: programs talk to their own parts.
    (allow system-socket (socket-domain AF_UNIX))
    (allow network-bind
      (local unix-socket (subpath "/Users/me/out"))
      (local unix-socket (subpath (param "HOME")))
      (local unix-socket (subpath (param "PRIVATE_1"))))
    (allow network-outbound
      (remote unix-socket (subpath "/Users/me/out"))
      (remote unix-socket (subpath (param "HOME")))
      (remote unix-socket (subpath (param "PRIVATE_1"))))
    "#);
    let closed = profile(&Plan { network: Network::Gate(Gateway::default()), ..zones() });
    assert!(!allows(&closed, "network-outbound", "ip localhost:4128"));
}
