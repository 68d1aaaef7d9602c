//! What a proxy on the host wants to hear before it serves anybody.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The name that goes with the token.
const USER: &str = "zonekeep";

/// A token, as a digest: comparing it tells nobody how much of a guess was right.
pub(crate) struct Token([u8; 32]);

impl Token {
    pub(crate) fn new(token: &str) -> Token {
        Token(digest(USER.as_bytes(), token.as_bytes()))
    }

    /// Returns whether that is the name and the token.
    pub(crate) fn is(&self, user: &[u8], password: &[u8]) -> bool {
        let given = digest(user, password);
        let differ = given.iter().zip(&self.0).fold(0, |differ, (a, b)| differ | (a ^ b));
        differ == 0
    }

    /// Returns whether a Proxy-Authorization has the name and the token.
    pub(crate) fn is_in(&self, authorization: &[u8]) -> bool {
        let Some((scheme, rest)) = authorization.split_at_checked(6) else { return false };
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return false;
        }
        let Ok(text) = STANDARD.decode(rest.trim_ascii()) else { return false };
        let Some(colon) = text.iter().position(|&byte| byte == b':') else { return false };
        self.is(&text[..colon], &text[colon + 1..])
    }
}

fn digest(user: &[u8], password: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update((user.len() as u64).to_be_bytes());
    hash.update(user);
    hash.update(password);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_the_token() {
        let token = Token::new("t:0k");
        assert!(token.is(b"zonekeep", b"t:0k"));
        let text = |text: &str| format!("Basic {}", STANDARD.encode(text));
        assert!(token.is_in(text("zonekeep:t:0k").as_bytes()));
        assert!(token.is_in(text("zonekeep:t:0k").replace("Basic ", "basic  ").as_bytes()));
        for (user, password) in
            [("zonekeep", "t:0K"), ("", "t:0k"), ("zonekeep", ""), ("zonekee", "pt:0k")]
        {
            assert!(!token.is(user.as_bytes(), password.as_bytes()), "{user} {password}");
        }
        for wrong in ["", "Basic", "Basic ", "Bearer t:0k", "zonekeep:t:0k", &text("zonekeep")] {
            assert!(!token.is_in(wrong.as_bytes()), "{wrong}");
        }
    }
}
