//! Secrets that commands use without having them.
//!
//! A command holds a placeholder. On the way to the hosts of the secret, in its
//! header, and inside TLS that is ended here, the value takes its place. The
//! placeholder alone is worth nothing; it is still stopped where it goes
//! anywhere else, because then somebody takes it for the value. And what the
//! host sends back is [masked](crate::mask), since it may repeat the request.

mod forms;
mod guard;
mod needles;
mod scanner;

use std::fmt;

pub(crate) use guard::{Secrets, Wire};
pub(crate) use needles::Needles;
use zonekeep_policy::hosts::{Destination, HostPattern};

/// How each placeholder begins.
const PREFIX: &str = "zonekeep-secret-";

/// The longest name in a placeholder, and the longest value.
const MAX_NAME: usize = 64;
const MAX_VALUE: usize = 8 * 1024;

/// Shorter values are not looked for in answers.
const SHORT: usize = 8;

/// A secret: what commands hold, what takes its place, and where.
#[derive(Clone)]
pub struct Secret {
    name: String,
    placeholder: String,
    value: Wiped,
    hosts: Vec<HostPattern>,
    header: String,
}

/// A value that cannot be sent in a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadSecret {
    /// It is empty.
    #[error("the value of the secret {name} is empty")]
    Empty {
        /// Which secret.
        name: String,
    },
    /// It would end the header.
    #[error("the value of the secret {name} has a line end or another control character")]
    Control {
        /// Which secret.
        name: String,
    },
    /// It is very long.
    #[error("the value of the secret {name} is longer than {MAX_VALUE} bytes")]
    Long {
        /// Which secret.
        name: String,
    },
    /// The system gave no random bytes for the placeholder.
    #[error("no placeholder for the secret {name}: the system has no random bytes")]
    Random {
        /// Which secret.
        name: String,
    },
}

impl Secret {
    /// Makes a secret that goes to `hosts` in `header`, with a placeholder that
    /// no other secret has.
    pub fn new(
        name: &str,
        value: String,
        hosts: Vec<HostPattern>,
        header: &str,
    ) -> Result<Secret, BadSecret> {
        let name = name.to_owned();
        let value = Wiped(value.into_bytes());
        if value.0.is_empty() {
            return Err(BadSecret::Empty { name });
        }
        if value.0.iter().any(u8::is_ascii_control) {
            return Err(BadSecret::Control { name });
        }
        if value.0.len() > MAX_VALUE {
            return Err(BadSecret::Long { name });
        }
        let Some(placeholder) = placeholder(&name) else {
            return Err(BadSecret::Random { name });
        };
        Ok(Secret { name, placeholder, value, hosts, header: header.to_owned() })
    }

    /// Returns the name that the rules give it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what commands hold in place of the value.
    pub fn placeholder(&self) -> &str {
        &self.placeholder
    }

    /// Returns whether the value is so short that it stands in text by chance:
    /// then answers that repeat it are not changed.
    pub fn is_short(&self) -> bool {
        self.value.0.len() < SHORT
    }

    /// Returns whether its hosts include a destination.
    fn goes_to(&self, to: &Destination) -> bool {
        self.hosts.iter().any(|host| host.allows(to))
    }

    /// Returns the value in every form in which it is looked for; none where it is
    /// short.
    pub(crate) fn value_forms(&self) -> Vec<Wiped> {
        if self.is_short() {
            return Vec::new();
        }
        let value = &self.value.0;
        let others = forms::escaped(value).into_iter().chain(forms::base64(value)).map(Wiped);
        others.chain([self.value.clone()]).collect()
    }

    /// Says where it may be sent, in words.
    fn whereto(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().take(8).map(HostPattern::to_string).collect();
        format!("in the header {} to {}", self.header, hosts.join(", "))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("name", &self.name)
            .field("placeholder", &self.placeholder)
            .field("hosts", &self.hosts)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

/// Makes a placeholder that stays as it is in headers, addresses and JSON.
fn placeholder(name: &str) -> Option<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).ok()?;
    let plain = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '_') => letter,
        _ => '-',
    };
    let name: String = name.chars().take(MAX_NAME).map(plain).collect();
    Some(format!("{PREFIX}{name}-{:032x}", u128::from_be_bytes(random)))
}

/// Bytes that are overwritten when they are no longer needed, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Wiped(pub(crate) Vec<u8>);

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.fill(0);
        // Without a reader the compiler may leave the writing out.
        std::hint::black_box(&self.0);
    }
}

impl fmt::Debug for Wiped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_tells_the_name_and_is_made_once() {
        let made = || Secret::new("API_Key.ä", "v".to_owned(), vec![], "Authorization").unwrap();
        let (one, two) = (made(), made());
        assert!(one.placeholder().starts_with("zonekeep-secret-api_key---"));
        assert_eq!(one.placeholder().len(), two.placeholder().len());
        assert_ne!(one.placeholder(), two.placeholder());
        let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        assert!(one.placeholder().bytes().all(plain));
        assert_eq!(one.clone().placeholder(), one.placeholder());
    }

    #[test]
    fn a_short_value_is_known_for_one() {
        for (value, short) in [("hunter2", true), ("hunter22", false), ("äöüx", true)] {
            let secret = Secret::new("KEY", value.to_owned(), vec![], "Authorization").unwrap();
            assert_eq!(secret.is_short(), short, "{value}");
            assert_eq!(secret.value_forms().is_empty(), short, "{value}");
        }
    }

    #[test]
    fn values_that_no_header_can_carry_are_refused_without_being_shown() {
        let made = |value: &str| Secret::new("KEY", value.to_owned(), vec![], "Authorization");
        for value in ["", "hush\r\nHost: a.test", "hush\n", "\0hush", "hush\x7f"] {
            let error = made(value).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
        }
        assert!(made(&"x".repeat(MAX_VALUE + 1)).is_err());
        let secret = made("hush, with ümlauts").unwrap();
        assert!(!format!("{secret:?} {secret:#?}").contains("hush"));
    }
}
