//! The forms in which the same bytes may travel.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Returns the base64 of some bytes that stand anywhere in encoded text: once
/// for each place in a group of three, without the letters at either end that
/// also depend on what stands next to them.
pub(super) fn base64(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let padded = [&[0; 2][..before], bytes].concat();
        // Six bits to a letter.
        let inner = (before * 8).div_ceil(6)..padded.len() * 8 / 6;
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let letters = engine.encode(&padded).into_bytes();
            forms.extend(letters.get(inner.clone()).map(<[u8]>::to_vec));
        }
    }
    forms.sort();
    forms.dedup();
    forms
}

/// Returns bytes as they may stand in JSON and in addresses, apart from as they are.
pub(super) fn escaped(bytes: &[u8]) -> Vec<Vec<u8>> {
    let json = |slash: &[u8]| {
        let escape = |byte: &u8| match byte {
            b'"' => b"\\\"".to_vec(),
            b'\\' => b"\\\\".to_vec(),
            b'/' => slash.to_vec(),
            _ => vec![*byte],
        };
        bytes.iter().flat_map(escape).collect::<Vec<u8>>()
    };
    let percent = |hex: fn(u8) -> String| {
        let escape = |byte: &u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => vec![*byte],
            _ => hex(*byte).into_bytes(),
        };
        bytes.iter().flat_map(escape).collect::<Vec<u8>>()
    };
    let mut forms = vec![
        json(b"/"),
        json(b"\\/"),
        percent(|byte| format!("%{byte:02X}")),
        percent(|byte| format!("%{byte:02x}")),
    ];
    forms.retain(|form| form != bytes);
    forms.sort();
    forms.dedup();
    forms
}

/// Returns bytes with every `%41` as the byte it stands for.
pub(super) fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => digit(high).zip(digit(low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                plain.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            None => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    #[test]
    fn some_form_stands_in_every_encoding() {
        for value in [&b"hush, a secret"[..], b"12345678", b"a?>~~?>b\xff\xfe"] {
            let forms = base64(value);
            assert!(forms.iter().all(|form| form.len() >= value.len()), "{forms:?}");
            for before in 0..7 {
                for after in 0..4 {
                    let text = [&b"user:pq"[..before], value, &b":x y"[..after]].concat();
                    for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                        let found = |form: &Vec<u8>| {
                            encoded.as_bytes().windows(form.len()).any(|part| part == &form[..])
                        };
                        assert!(forms.iter().any(found), "{before} {after}: {encoded}");
                    }
                }
            }
        }
    }

    #[test]
    fn escapes_are_those_of_json_and_of_addresses() {
        assert!(escaped(b"plain-text_1.2~").is_empty());
        let text = |forms: Vec<Vec<u8>>| -> Vec<String> {
            forms.into_iter().map(|form| String::from_utf8(form).unwrap()).collect()
        };
        assert_eq!(
            text(escaped(b"a/b\"+")),
            ["a%2Fb%22%2B", "a%2fb%22%2b", "a/b\\\"+", "a\\/b\\\"+"]
        );
        assert_eq!(unescaped(b"a%2Fb%2f%4%zz%"), b"a/b/%4%zz%");
    }
}
