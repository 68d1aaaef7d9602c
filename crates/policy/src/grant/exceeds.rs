//! What a called worker asks for beyond what its caller holds.

/// A worker file asked for more than its caller holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExceedsParent {
    /// The caller does not have the zone.
    #[error("Child requests zone '{zone}' but parent doesn't have it")]
    NoZone {
        /// The zone.
        zone: String,
    },
    /// The caller can only read the zone.
    #[error("Child requests 'rw' on '{zone}' but parent only has 'ro'")]
    ReadOnly {
        /// The zone.
        zone: String,
    },
    /// The caller may not use files with that ending.
    #[error("Child requests suffix '{suffix}' in '{zone}' but parent doesn't have it")]
    Suffix {
        /// The zone.
        zone: String,
        /// The ending.
        suffix: String,
    },
    /// The caller may only use smaller files.
    #[error("Child requests files of {wanted} bytes in '{zone}' but parent only has {held}")]
    Size {
        /// The zone.
        zone: String,
        /// The size asked for.
        wanted: u64,
        /// The caller's limit.
        held: u64,
    },
    /// The caller does not have the tool.
    #[error("Child requests tool '{tool}' but parent doesn't have it")]
    NoTool {
        /// The tool.
        tool: String,
    },
    /// The caller may not reach everything.
    #[error("Child requests network access but parent doesn't have it")]
    Network,
    /// The caller may not reach the host.
    #[error("Child requests host '{host}' but parent doesn't have it")]
    Host {
        /// The host.
        host: String,
    },
    /// The caller may not reach the hosts of a package manager.
    #[error("Child requests the hosts of '{preset}' but parent doesn't have them")]
    Preset {
        /// The package manager.
        preset: String,
    },
    /// The caller does not have the secret.
    #[error("Child requests secret '{secret}' but parent doesn't have it")]
    Secret {
        /// The secret's name.
        secret: String,
    },
    /// The path where relative paths would start is not in the child's view.
    #[error("Child starts in '{path}', which is not in a directory that it requests")]
    WorkingDir {
        /// The path.
        path: String,
    },
    /// Workers have called workers often enough.
    #[error("Child would run deeper than the {max} levels that the project allows")]
    TooDeep {
        /// The limit.
        max: u32,
    },
}

impl ExceedsParent {
    /// Returns the words for an agent, which speak of directories.
    pub fn for_agent(&self) -> String {
        match self {
            ExceedsParent::NoZone { zone } => {
                format!("It needs the directory /{zone}, which this worker does not have.")
            }
            ExceedsParent::ReadOnly { zone } => {
                format!("It needs to write to /{zone}, which this worker can only read.")
            }
            ExceedsParent::Suffix { zone, suffix } => {
                format!(
                    "It needs files that end in '{suffix}' in /{zone}, which this worker may not use."
                )
            }
            ExceedsParent::Size { zone, wanted, held } => format!(
                "It needs files of up to {wanted} bytes in /{zone}, where this worker may use {held}."
            ),
            ExceedsParent::NoTool { tool } => {
                format!("It needs the tool '{tool}', which this worker does not have.")
            }
            ExceedsParent::Network => {
                "It needs network access, which this worker does not have.".to_owned()
            }
            ExceedsParent::Host { host } => {
                format!("It needs the host '{host}', which this worker may not reach.")
            }
            ExceedsParent::Preset { preset } => {
                format!("It needs the hosts of '{preset}', which this worker may not reach.")
            }
            ExceedsParent::Secret { secret } => {
                format!("It needs the secret '{secret}', which this worker does not have.")
            }
            ExceedsParent::WorkingDir { path } => {
                format!("It starts in '{path}', which is in no directory that it has.")
            }
            ExceedsParent::TooDeep { max } => {
                format!("Workers may call each other at most {max} deep.")
            }
        }
    }
}
