//! The keys of an agent's profile.

use super::super::shape::{Key, Shape};
use super::GUARD;
use super::network::SECRETS;

/// The profile of an agent.
pub(crate) const PROFILE: Shape = Shape::Map(&[
    Key::new("about", Shape::Text, "The agent; for people."),
    Key::new("program", Shape::Text, "The file name of the agent's program.").required(),
    Key::new(
        "args",
        Shape::List(&Shape::Text),
        "Arguments that come before the user's, where the command is the agent's program.",
    ),
    Key::new(
        "hosts",
        Shape::List(&Shape::Text),
        "The hosts that the agent may reach, beside those of the project file.",
    )
    .required(),
    SECRETS,
    Key::new("env", Shape::MapOf(&Shape::Scalar), "Environment variables that the agent gets."),
    Key::new(
        "home_env",
        Shape::MapOf(&Shape::Text),
        "Environment variables that name a path below the home directory inside.",
    ),
    Key::new(
        "pass_env",
        Shape::List(&Shape::Text),
        "Names of environment variables that the agent inherits.",
    ),
    Key::new(
        "keep",
        Shape::List(&Shape::Text),
        "Directories below the home directory that are the sandbox's own and kept between runs.",
    ),
    Key::new(
        "settings",
        Shape::List(&Shape::Text),
        "Files and directories below the home directory that are copied into the sandbox; \
         changes wait in the quarantine.",
    ),
    Key::new(
        "credentials",
        Shape::List(&Shape::Text),
        "Files below the home directory that are never copied.",
    ),
    Key::new(
        "except",
        Shape::List(&Shape::Text),
        "Files and directories in those of settings that the agent makes for itself.",
    ),
    Key::new(
        "files",
        Shape::MapOf(&Shape::Text),
        "Files of kept directories that are made where they are missing, with their content.",
    ),
    Key::new(
        "guard",
        Shape::MapOf(&GUARD),
        "Files that are guarded inside writable zones, by pattern, unless the project file has \
         the pattern.",
    ),
]);
