//! Host names in the one form in which they are compared: ASCII, lower case,
//! without a dot at the end, international ones as `xn--`.

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use psl::{Psl as _, Type};

use super::fault::HostFault;

/// The name of the machine that Zonekeep runs on, as seen from a sandbox.
pub const LOCALHOST: &str = "localhost";
/// Another name for it, for programs that keep `localhost` to themselves.
pub const HOST_NAME: &str = "host.zonekeep";

/// Everything that no label has; `_` is none of it, because names of services do.
const DENIED: AsciiDenyList = AsciiDenyList::new(true, "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~");

/// Returns the canonical form of a name in any script.
pub(super) fn canonical(text: &str) -> Result<String, HostFault> {
    if text.is_ascii() {
        return canonical_ascii(text);
    }
    canonical_ascii(&to_ascii(text).ok_or(HostFault::Unicode)?)
}

/// Returns the canonical form of a name in ASCII.
pub(super) fn canonical_ascii(text: &str) -> Result<String, HostFault> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    if name.is_empty() {
        return Err(HostFault::Empty);
    }
    if name.starts_with('.') {
        return Err(HostFault::LeadingDot);
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    if is_number(last) {
        return Err(HostFault::Numeric);
    }
    if name.len() > 253 || !name.split('.').all(is_label) {
        return Err(HostFault::Name);
    }
    // Two spellings of one name, or a name that nobody can have.
    if name.split('.').any(|label| label.starts_with("xn--"))
        && to_ascii(&name).as_deref() != Some(&name)
    {
        return Err(HostFault::Unicode);
    }
    Ok(if name == HOST_NAME { LOCALHOST.to_owned() } else { name })
}

fn to_ascii(text: &str) -> Option<String> {
    let length = DnsLength::VerifyAllowRootDot;
    let name = Uts46::new().to_ascii(text.as_bytes(), DENIED, Hyphens::CheckFirstLast, length);
    name.ok().map(String::from)
}

fn is_label(label: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !label.is_empty()
        && label.len() <= 63
        && label.bytes().all(plain)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Returns whether some resolver takes the last label of a name for a number, and
/// so the whole name for an address: decimal, octal or hexadecimal.
fn is_number(label: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let hex =
        label.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    !label.is_empty() && digits(label) || hex
}

/// Who gives out the names below a suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suffix {
    /// A registry: everybody has one.
    Public,
    /// A company whose customers have them.
    Private,
}

/// Returns whose the names directly below a name are, where they are many people's.
pub(super) fn suffix(name: &str) -> Option<Suffix> {
    // The list has some suffixes as "every name below this one".
    let below = format!("x.{name}");
    [name, &below].into_iter().find_map(|name| {
        let suffix = psl::List.suffix(name.as_bytes())?;
        if suffix.as_bytes() != name.as_bytes() {
            return None;
        }
        match suffix.typ()? {
            Type::Icann => Some(Suffix::Public),
            Type::Private => Some(Suffix::Private),
        }
    })
}
