use std::path::Path;

use crate::config::{Loaded, Overrides, Severity, load};

fn loaded(sandbox: &str) -> Loaded {
    let text = format!("sandbox:\n{sandbox}\n");
    load(&text, "zonekeep.yaml", Path::new("/p/zonekeep.yaml"), &Overrides::default())
}

/// Returns each problem: its line, whether it is a warning, what it says and the hint.
fn problems(sandbox: &str) -> Vec<(u32, &'static str, bool, String, String)> {
    let loaded = loaded(sandbox);
    let problems = loaded.problems.into_iter().map(|problem| {
        let doubt = problem.severity == Severity::Warning;
        let hint = problem.hint.unwrap_or_default();
        (problem.line, problem.code, doubt, problem.message, hint)
    });
    problems.collect()
}

#[test]
fn each_mistake_in_a_host_is_explained_with_a_way_out() {
    let cases = [
        ("''", "is empty", "write a host name, such as example.org"),
        ("'a b'", "has a blank inside", "write one name to an item, without blanks"),
        (
            "'*'",
            "stands for every host",
            "write network: true for every host, or network: false for none",
        ),
        (
            "'*.co.uk'",
            "stands for every name below 'co.uk', where anybody can have one",
            "write whose names they are, such as *.example.org, or each name",
        ),
        ("'http://a.test'", "is a URL", "write the host name alone, such as example.org"),
        ("a.test/x", "has a path", "write the host name alone; rules are for whole hosts"),
        ("me@a.test", "has a user name", "write the host name alone, without a user"),
        (
            "'a.*.test'",
            "has a '*' that is not alone in front",
            "write '*.' in front for all names below another, such as *.example.org",
        ),
        (".a.test", "starts with a dot", "write '*.' in front for all names below it"),
        (
            "'a.test:https'",
            "has a port that is not a number from 1 to 65535",
            "write the port as a number, such as example.org:8080",
        ),
        (
            "'0x7f.1'",
            "ends in a number, and is no address as it is written",
            "write an address as four numbers from 0 to 255, such as 10.1.2.3",
        ),
        (
            "'[fd00:]:80'",
            "is not an address",
            "write an IPv6 address such as fd00::5, or [fd00::5]:443",
        ),
        (
            "'fe80::1%eth0'",
            "has the name of a network interface",
            "write the address alone, without '%' and what follows",
        ),
        (
            "0.0.0.0",
            "is no address that can be reached",
            "write localhost for the services of this machine",
        ),
        (
            "10.0.0.0/99",
            "has a range that is not a number of bits",
            "write a range such as 10.0.0.0/8 or fd00::/8",
        ),
        (
            "0.0.0.0/0",
            "stands for too many addresses",
            "write a smaller range, such as 10.0.0.0/8 or fd00::/8",
        ),
        (
            "10.1.2.3/8",
            "is not the first address of its range",
            "write 10.0.0.0/8 for the range, or the address alone",
        ),
        (
            "127.0.0.0/8",
            "stands for the machine itself",
            "write localhost and the port, such as localhost:5432",
        ),
        (
            "'*.localhost'",
            "stands for names that there are not",
            "write localhost and the port, such as localhost:5432",
        ),
        (
            "xn--a.test",
            "is not an international name",
            "write it in letters and digits that names can have",
        ),
        ("a..test", "is not a host name", "write a name such as example.org or *.example.org"),
    ];
    for (item, fault, hint) in cases {
        for key in ["allow", "ask"] {
            let got = problems(&format!("  network:\n    {key}: [{item}]"));
            let message = format!("the host '{}' {fault}", item.trim_matches('\''));
            assert_eq!(got, [(3, "bad_host", false, message, hint.to_owned())], "{key} {item}");
        }
    }
    // The short form is a list of the same.
    assert_eq!(problems("  network: ['*', a.test]")[0].1, "bad_host");
}

#[test]
fn hosts_can_be_refused_that_could_not_be_allowed() {
    assert_eq!(problems("  network: { deny: ['*.com', 0.0.0.0/0, 127.0.0.0/8] }"), []);
    let all = problems("  network: { deny: ['*'] }");
    assert_eq!(all[0].3, "the host '*' stands for every host");
}

#[test]
fn names_that_many_people_have_are_worth_a_look() {
    let hint = "write each name that is needed".to_owned();
    let message = "the host '*.github.io' stands for names that many people have".to_owned();
    let want = [(2, "shared_host", true, message, hint)];
    assert_eq!(problems("  network: ['*.github.io', a.github.io, '*.a.github.io']"), want);
    assert_eq!(problems("  network: { deny: ['*.github.io'] }"), []);
}

#[test]
fn presets_that_there_are_not_are_named_with_those_that_there_are() {
    let all = "presets: python, node, rust, go, java, ruby, php, dart, dotnet";
    let cases = [
        ("pyhton", format!("did you mean 'python'? {all}")),
        ("carg", format!("did you mean 'cargo'? {all}")),
        ("Node", format!("did you mean 'node'? {all}")),
        ("perl6-zef", all.to_owned()),
    ];
    for (name, hint) in cases {
        let message = format!("there is no preset '{name}'");
        let want = [(2, "unknown_preset", false, message, hint)];
        assert_eq!(problems(&format!("  network: {{ presets: [{name}] }}")), want);
    }
}

#[test]
fn a_rule_that_gives_every_host_gives_the_refused_ones_too() {
    let cases = [
        ("[a.test]", None),
        ("{ deny: [a.test] }", Some("refuses")),
        ("{ ask: [a.test] }", Some("asks about")),
        ("{ ask: [a.test], deny: [b.test] }", Some("refuses or asks about")),
        ("true", None),
    ];
    for (list, what) in cases {
        let rules = "shell:\n  rules:\n    - { pattern: x, grants: { network: true } }\n    \
                     - { pattern: y, grants: { network: [b.test] } }";
        let got = problems(&format!("  network: {list}\n{rules}"));
        let want = what.map(|what| {
            let message = format!(
                "the rule for 'x' gives every host, also those that sandbox.network {what}"
            );
            let hint = "list the hosts that the command needs in grants.network".to_owned();
            (5, "network_open", true, message, hint)
        });
        assert_eq!(got, Vec::from_iter(want), "{list}");
    }
}

const HOSTS: &str = "  network: { allow: [api.test, 'localhost:8080'] }\n";

#[test]
fn each_mistake_in_a_secret_is_explained_with_a_way_out() {
    let name = "write letters, digits and '_' alone, such as API_KEY";
    let header = "write the name alone, without ':', such as X-Api-Key";
    let taken = "write the header that the service reads, such as Authorization";
    let cases = [
        (
            "'A-B': { env: A, hosts: [api.test] }",
            "bad_value",
            "'A-B' cannot be the name of an environment variable",
            name,
        ),
        (
            "K: { env: '1A', hosts: [api.test] }",
            "bad_value",
            "'1A' cannot be the name of an environment variable",
            name,
        ),
        (
            "K: { hosts: [api.test] }",
            "missing_key",
            "'sandbox.secrets.K' has no 'env'",
            "write env: with text",
        ),
        (
            "K: { env: A }",
            "missing_key",
            "'sandbox.secrets.K' has no 'hosts'",
            "write hosts: with a list",
        ),
        (
            "K: { env: A, hosts: [] }",
            "bad_value",
            "the secret 'K' is for no host",
            "write the hosts that it is sent to, or remove the secret",
        ),
        (
            "K: { env: A, hosts: ['https://api.test'] }",
            "bad_host",
            "the host 'https://api.test' is a URL",
            "write the host name alone, such as example.org",
        ),
        (
            "K: { env: A, hosts: [10.1.2.3] }",
            "bad_host",
            "the secret 'K' is for an address, '10.1.2.3'",
            "write the name of the host: nobody can prove to be an address",
        ),
        (
            "K: { env: A, hosts: [10.0.0.0/8] }",
            "bad_host",
            "the secret 'K' is for an address, '10.0.0.0/8'",
            "write the name of the host: nobody can prove to be an address",
        ),
        (
            "K: { env: A, hosts: [api.test], header: 'X: Y' }",
            "bad_value",
            "'X: Y' cannot be the name of a header",
            header,
        ),
        (
            "K: { env: A, hosts: [api.test], header: '' }",
            "bad_value",
            "'' cannot be the name of a header",
            header,
        ),
        (
            "K: { env: A, hosts: [api.test], header: HOST }",
            "bad_value",
            "the header 'HOST' cannot carry a secret",
            taken,
        ),
        (
            "K: { env: A, hosts: [api.test], header: Content-Length }",
            "bad_value",
            "the header 'Content-Length' cannot carry a secret",
            taken,
        ),
    ];
    for (secret, code, message, hint) in cases {
        let got = problems(&format!("{HOSTS}  secrets:\n    {secret}"));
        let errors: Vec<_> = got.iter().filter(|problem| !problem.2).collect();
        let want = (4, code, false, message.to_owned(), hint.to_owned());
        assert_eq!(errors, [&want], "{secret}");
    }
}

#[test]
fn secrets_are_held_against_the_rest_of_the_file() {
    type Shown<'a> = (u32, &'a str, bool, &'a str, &'a str);
    let cases: &[(&str, &[Shown<'_>])] = &[
        ("  secrets: { K: { env: A, hosts: [api.test] } }", &[]),
        ("  secrets: { K: { env: K, hosts: ['*.test', 'localhost:8080'] } }", &[]),
        (
            "  secrets: { K: { env: A, hosts: [b.test] } }",
            &[(
                3,
                "unused",
                true,
                "the secret 'K' is never used for 'b.test', which no list of hosts allows",
                "add b.test to sandbox.network.allow",
            )],
        ),
        (
            "  secrets: { K: { env: A, hosts: ['api.test:8443', localhost] } }",
            &[
                (
                    3,
                    "unused",
                    true,
                    "the secret 'K' is never used for 'api.test:8443', which no list of hosts \
                     allows",
                    "add api.test:8443 to sandbox.network.allow",
                ),
                (
                    3,
                    "unused",
                    true,
                    "the secret 'K' is never used for 'localhost', which no list of hosts allows",
                    "add localhost to sandbox.network.allow",
                ),
            ],
        ),
        (
            "  secrets: { K: { env: A, hosts: [api.test] } }\n  env: { K: x }",
            &[(
                3,
                "conflict",
                false,
                "'K' is a secret, and sandbox.env has it too",
                "remove it from sandbox.env, or give the secret another name",
            )],
        ),
        (
            "  secrets: { K: { env: K, hosts: [api.test] } }\n  pass_env: [K]",
            &[(
                3,
                "conflict",
                false,
                "'K' is a secret, and sandbox.pass_env has it too",
                "remove it from sandbox.pass_env, or give the secret another name",
            )],
        ),
        (
            "  secrets: { K: { env: A, hosts: [api.test] } }\n  pass_env: [A]",
            &[(
                4,
                "secret_shown",
                true,
                "commands can read the secret 'K': they get 'A'",
                "remove 'A' from sandbox.pass_env",
            )],
        ),
    ];
    for (secrets, want) in cases {
        let got = problems(&format!("{HOSTS}{secrets}"));
        let got: Vec<_> = got
            .iter()
            .map(|(line, code, doubt, m, h)| (*line, *code, *doubt, &**m, &**h))
            .collect();
        assert_eq!(got, *want, "{secrets}");
    }
    // Nobody stands between where everything is reached, or nothing.
    for network in ["true", "false"] {
        let text =
            format!("  network: {network}\n  secrets: {{ K: {{ env: A, hosts: [a.test] }} }}");
        assert_eq!(problems(&text)[0].1, "unused", "{network}");
    }
    // What a rule gives counts, and what a preset gives is not known.
    let rule = "  secrets: { K: { env: A, hosts: [a.test] } }\n\
                shell: { rules: [{ pattern: x, grants: { network: [a.test] } }] }";
    assert_eq!(problems(rule), []);
    let preset = "  network: { presets: [go] }\n  secrets: { K: { env: A, hosts: [a.test] } }";
    assert_eq!(problems(preset), []);
}
