//! The keys for hosts, and for the secrets that are sent to them.

use super::super::shape::{Key, Shape};

pub(super) const NETWORK: Key =
    Key::new("network", NETWORK_SHAPE, "What commands may reach.").default("false").hint(
        "write true, false, a list of hosts, or a map such as { allow: [example.org], presets: \
         [python] }",
    );

pub(super) const NETWORK_SHAPE: Shape = Shape::Either(&[
    Shape::Bool,
    Shape::List(&Shape::Text),
    Shape::Map(&[
        Key::new(
            "allow",
            Shape::List(&Shape::Text),
            "Hosts that may be reached: a name, '*.' and a name for all names below it, an \
             address, or a range of addresses that names may lead to. With a port after ':', \
             else for ports 80 and 443. 'localhost:PORT' is a service of this machine.",
        ),
        Key::new(
            "ask",
            Shape::List(&Shape::Text),
            "Hosts that may be reached after a yes; written as in 'allow'.",
        ),
        Key::new(
            "deny",
            Shape::List(&Shape::Text),
            "Hosts that are refused even where 'allow', 'ask' or 'presets' are for them; for \
             every port where none is written.",
        ),
        Key::new(
            "presets",
            Shape::List(&Shape::Text),
            "Languages whose package managers' hosts may be reached, as they are set up on this \
             machine: python, node, rust, go, java, ruby, php, dart, dotnet.",
        ),
    ]),
]);

pub(super) const SECRETS: Key = Key::new(
    "secrets",
    Shape::MapOf(&Shape::Map(&[
        Key::new("env", Shape::Text, "The variable of the host that holds the secret.").required(),
        Key::new(
            "hosts",
            Shape::List(&Shape::Text),
            "The hosts that it is sent to: names, or '*.' and a name.",
        )
        .required(),
        Key::new("header", Shape::Text, "The header that carries it.").default("\"Authorization\""),
    ])),
    "Secrets that commands use without seeing them, by the variable that they see: it holds a \
     placeholder, in whose place the secret is put on the way to its hosts.",
)
.hint("write a map, such as secrets: { API_KEY: { env: API_KEY, hosts: [api.example.org] } }");

pub(super) const SECRET_NEEDS: Key = Key::new(
    "secrets",
    Shape::List(&Shape::Text),
    "The secrets that the worker's commands use, by name; none when left out.",
)
.hint(
    "a map of secrets belongs in the project file; here write a list of names, such as secrets: \
     [API_KEY]",
);
