//! What is wrong with a host that somebody wrote, and what to write instead.

/// Why a text is no host, or no rule for hosts. The words follow the text:
/// "the host 'x' has a path".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostFault {
    /// Nothing is written.
    #[error("is empty")]
    Empty,
    /// It has a blank or a control character inside.
    #[error("has a blank inside")]
    Blank,
    /// It stands for every host.
    #[error("stands for every host")]
    Everything,
    /// It stands for every name below a public suffix.
    #[error("stands for every name below '{suffix}', where anybody can have one")]
    PublicSuffix {
        /// The suffix.
        suffix: String,
    },
    /// It starts with a scheme.
    #[error("is a URL")]
    Url,
    /// It has a path.
    #[error("has a path")]
    Path,
    /// It has a user's name before an `@`.
    #[error("has a user name")]
    User,
    /// Its `*` is not the first label.
    #[error("has a '*' that is not alone in front")]
    Star,
    /// It starts with a dot.
    #[error("starts with a dot")]
    LeadingDot,
    /// Its port is none.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// It is a number that some programs take for an address.
    #[error("ends in a number, and is no address as it is written")]
    Numeric,
    /// It is an IPv6 address that is not written like one.
    #[error("is not an address")]
    Address,
    /// It is an address of one network interface.
    #[error("has the name of a network interface")]
    Interface,
    /// The unspecified address: nobody can be reached there.
    #[error("is no address that can be reached")]
    Unspecified,
    /// Its range has a length that addresses do not have.
    #[error("has a range that is not a number of bits")]
    Bits,
    /// Its range is nearly every address.
    #[error("stands for too many addresses")]
    Wide,
    /// Its range starts inside: the address has bits beyond the range.
    #[error("is not the first address of its range")]
    Inside {
        /// The range that holds it.
        range: String,
    },
    /// It is a range of the machine itself.
    #[error("stands for the machine itself")]
    OwnMachine,
    /// Names below `localhost` or `zonekeep`.
    #[error("stands for names that there are not")]
    BelowLocal,
    /// It has characters that are not ASCII, where only those can stand.
    #[error("has characters that are not ASCII")]
    NotAscii,
    /// Its international form is not allowed.
    #[error("is not an international name")]
    Unicode,
    /// It is no name.
    #[error("is not a host name")]
    Name,
}

impl HostFault {
    /// Returns what to write instead.
    pub fn hint(&self) -> String {
        let hint = match self {
            HostFault::Empty => "write a host name, such as example.org",
            HostFault::Blank => "write one name to an item, without blanks",
            HostFault::Everything => {
                "write network: true for every host, or network: false for none"
            }
            HostFault::PublicSuffix { .. } => {
                "write whose names they are, such as *.example.org, or each name"
            }
            HostFault::Url => "write the host name alone, such as example.org",
            HostFault::Path => "write the host name alone; rules are for whole hosts",
            HostFault::User => "write the host name alone, without a user",
            HostFault::Star => {
                "write '*.' in front for all names below another, such as *.example.org"
            }
            HostFault::LeadingDot => "write '*.' in front for all names below it",
            HostFault::Port => "write the port as a number, such as example.org:8080",
            HostFault::Numeric => {
                "write an address as four numbers from 0 to 255, such as 10.1.2.3"
            }
            HostFault::Address => "write an IPv6 address such as fd00::5, or [fd00::5]:443",
            HostFault::Interface => "write the address alone, without '%' and what follows",
            HostFault::Unspecified => "write localhost for the services of this machine",
            HostFault::Bits => "write a range such as 10.0.0.0/8 or fd00::/8",
            HostFault::Wide => "write a smaller range, such as 10.0.0.0/8 or fd00::/8",
            HostFault::Inside { range } => {
                return format!("write {range} for the range, or the address alone");
            }
            HostFault::OwnMachine | HostFault::BelowLocal => {
                "write localhost and the port, such as localhost:5432"
            }
            HostFault::NotAscii => "write the name as it is sent, with xn-- in front of its labels",
            HostFault::Unicode => "write it in letters and digits that names can have",
            HostFault::Name => "write a name such as example.org or *.example.org",
        };
        hint.to_owned()
    }
}
