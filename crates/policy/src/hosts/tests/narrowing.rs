//! What is left down a chain of calls, and where two rules meet.

use super::super::{join, meet, narrow, without};
use super::*;

#[test]
fn a_child_reaches_what_it_names_and_never_more_than_its_parent() {
    let no_network = "Child requests network access but parent doesn't have it";
    let no_b = "Child requests host 'b.org' but parent doesn't have it";
    let no_node = "Child requests the hosts of 'node' but parent doesn't have them";
    let cases = [
        // parent, child, what the child gets
        ("on", "on", Ok("on")),
        ("on", "off", Ok("off")),
        ("on", "a.org ?c.org -b.org @rust", Ok("a.org ?c.org -b.org @rust")),
        ("off", "off", Ok("off")),
        ("off", "on", Err(no_network)),
        ("off", "b.org", Err(no_b)),
        ("off", "?b.org", Err(no_b)),
        ("off", "-b.org", Ok("off")),
        ("off", "@node", Err(no_node)),
        ("a.org", "on", Err(no_network)),
        ("a.org", "off", Ok("off")),
        ("a.org b.org", "b.org", Ok("b.org")),
        ("a.org", "b.org", Err(no_b)),
        ("*.test", "b.test", Ok("b.test")),
        ("*.b.org", "b.org", Err(no_b)),
        ("*.b.org", "a.b.org *.b.org *.a.b.org", Ok("a.b.org *.b.org *.a.b.org")),
        ("a.org", "*.a.org", Err("Child requests host '*.a.org' but parent doesn't have it")),
        ("*.a.org", "xa.org", Err("Child requests host 'xa.org' but parent doesn't have it")),
        ("*.test -b.test", "a.test -c.test -b.test", Ok("a.test -b.test -c.test")),
        ("*.test -b.test", "b.test", Ok("b.test -b.test")),
        ("@rust", "@rust", Ok("@rust")),
        ("@rust", "@node", Err(no_node)),
        // Ports.
        ("b.org:443", "b.org:443", Ok("b.org:443")),
        ("b.org", "b.org:443", Ok("b.org:443")),
        ("b.org:443", "b.org", Err(no_b)),
        ("b.org:443 b.org:80", "b.org", Ok("b.org")),
        ("b.org:443 *.org.test b.org:8080", "b.org", Err(no_b)),
        ("*.x.org:80 a.x.org:443", "a.x.org", Ok("a.x.org")),
        ("b.org", "b.org:22", Err("Child requests host 'b.org:22' but parent doesn't have it")),
        // Questions.
        ("?b.org", "b.org", Ok("?b.org")),
        ("b.org", "?b.org", Ok("?b.org")),
        ("?*.x.org", "a.x.org", Ok("a.x.org ?*.x.org")),
        // Addresses.
        ("10.0.0.0/8", "10.1.0.0/16 10.1.2.3", Ok("10.1.0.0/16 10.1.2.3")),
        (
            "10.1.0.0/16",
            "10.0.0.0/8",
            Err("Child requests host '10.0.0.0/8' but parent doesn't have it"),
        ),
        (
            "10.0.0.0/16",
            "10.0.0.0/8",
            Err("Child requests host '10.0.0.0/8' but parent doesn't have it"),
        ),
        (
            "169.254.0.0/16",
            "169.254.169.254",
            Err("Child requests host '169.254.169.254' but parent doesn't have it"),
        ),
        ("localhost:22", "host.zonekeep:22", Ok("localhost:22")),
        (
            "localhost:22",
            "127.0.0.1:22",
            Err("Child requests host '127.0.0.1:22' but parent doesn't have it"),
        ),
        // What a preset gives is not known here.
        ("@python", "b.org", Err(no_b)),
    ];
    for (held, wanted, child) in cases {
        let got = narrow(&network(held), &network(wanted));
        let got = got.map(|got| shown(&got)).map_err(|error| error.to_string());
        assert_eq!(got, child.map(str::to_owned).map_err(str::to_owned), "{held} / {wanted}");
    }
}

#[test]
fn what_two_rules_give_is_what_each_gives_port_by_port() {
    let cases = [
        ("on", "a.test", "a.test"),
        ("off", "a.test", "off"),
        ("a.test b.test", "b.test c.test", "b.test"),
        ("a.test", "a.test:443", "a.test:443"),
        ("*.x.test", "a.x.test:22 a.x.test:80", "a.x.test:80"),
        ("a.test:22", "a.test", "off"),
        ("a.test:80 a.test:443", "a.test", "a.test:80 a.test:443 a.test"),
        ("a.test -b.test", "a.test ?c.test", "a.test ?c.test -b.test"),
        ("@python @go", "@go @node", "@go"),
        ("a.test", "@python", "off"),
        ("10.0.0.0/8", "10.1.2.3", "10.1.2.3"),
        ("169.254.0.0/16", "169.254.169.254", "off"),
    ];
    for (a, b, want) in cases {
        assert_eq!(shown(&meet(&network(a), &network(b))), want, "{a} / {b}");
    }
}

#[test]
fn what_either_gives_is_given_unless_one_refuses_it() {
    let cases = [
        ("on", "a.test", "on"),
        ("off", "a.test -b.test", "a.test -b.test"),
        ("a.test", "b.test", "a.test b.test"),
        ("a.test", "a.test", "a.test"),
        ("a.test", "-a.test", "a.test -a.test"),
        ("a.test", "?a.test", "?a.test"),
        ("@python", "a.test @go", "a.test @python @go"),
    ];
    for (a, b, want) in cases {
        assert_eq!(shown(&join(&network(a), &network(b))), want, "{a} / {b}");
    }
    let bounds = Bounds::of(&network("?b.test -c.test")).and(&Bounds::of(&network("-d.test")));
    let got = without(network("*.test"), &bounds);
    assert_eq!(shown(&got), "*.test ?b.test -c.test -d.test");
    assert_eq!(without(Network::On, &bounds), Network::On);
    assert_eq!(without(Network::Off, &bounds), Network::Off);
}

#[test]
fn a_call_chooses_among_what_is_held() {
    let held = "a.test *.x.test:22 ?b.test -c.x.test @python";
    let allowed = "\nAllowed hosts: *.x.test:22, a.test, b.test (after a question), hosts \
                   of python";
    let exceeds = |words: &str| Err(format!("{words}{allowed}"));
    type List = Option<&'static [&'static str]>;
    let cases: Vec<(&str, List, List, Result<&str, String>)> =
        vec![
        (held, None, None, Ok(held)),
        (held, Some(&["A.test."]), None, Ok("a.test ?b.test -c.x.test")),
        (held, Some(&["a.test", "b.test"]), None, Ok("a.test ?b.test -c.x.test")),
        (held, Some(&[]), None, Ok("?b.test -c.x.test")),
        (held, None, Some(&["pip", "python"]), Ok("?b.test -c.x.test @python")),
        (held, Some(&["a.test:443"]), Some(&["uv"]), Ok("a.test:443 ?b.test -c.x.test @python")),
        (held, Some(&["d.x.test:22"]), None, Ok("d.x.test:22 ?b.test -c.x.test")),
        (held, Some(&["d.x.test"]), None, exceeds("The host 'd.x.test' is not an allowed host.")),
        (
            held,
            None,
            Some(&["cargo"]),
            exceeds("The hosts of 'rust' are not among the allowed hosts."),
        ),
        ("on", Some(&["a.test"]), None, Ok("a.test")),
        ("on", None, None, Ok("on")),
        ("off", None, None, Ok("off")),
        ("off", Some(&[]), Some(&[]), Ok("off")),
        (
            "off",
            Some(&["a.test"]),
            None,
            Err("The host 'a.test' is not an allowed host.\nAllowed hosts: none".to_owned()),
        ),
        (
            "on",
            Some(&["https://a.test/\n"]),
            None,
            Err("The host 'https://a.test/\\u{a}' has a blank inside.\nHint: write one name to an \
                 item, without blanks"
                .to_owned()),
        ),
        (
            "on",
            None,
            Some(&["perl"]),
            Err("There is no package manager 'perl'.\nKnown: python, node, rust, go, java, ruby, \
                 php, dart, dotnet"
                .to_owned()),
        ),
    ];
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    for (held, domains, managers, want) in cases {
        let (domains, managers) = (domains.map(owned), managers.map(owned));
        let got = network(held).chosen(domains.as_deref(), managers.as_deref());
        // What is asked about without being allowed reads like what is; both are tight.
        let got = got.map(|got| shown(&got)).map_err(|error| error.to_string());
        assert_eq!(got, want.map(str::to_owned), "{held} {domains:?} {managers:?}");
    }
}
