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

/// Returns bytes as they may stand in JSON, in addresses and in web pages, apart from as
/// they are.
pub(super) fn escaped(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut forms: Vec<Vec<u8>> = percents(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        forms.extend(jsons(text));
        forms.extend(pages(text));
    } else {
        forms.extend(["/", "\\/"].map(|slash| json_bytes(bytes, slash)));
    }
    forms.retain(|form| form != bytes);
    forms.sort();
    forms.dedup();
    forms
}

/// Returns bytes as they may stand in addresses: languages differ in what they leave as
/// it is.
fn percents(bytes: &[u8]) -> Vec<Vec<u8>> {
    const KEPT: [&[u8]; 5] = [b"-_.~", b"-_.~/", b"-_.~!'()*", b"-_.~$&+=:@", b"-_.*"];
    let hexes: [fn(u8) -> String; 2] =
        [|byte| format!("%{byte:02X}"), |byte| format!("%{byte:02x}")];
    let mut forms = Vec::new();
    for kept in KEPT {
        for hex in hexes {
            for blank in ["%20", "+"] {
                let escape = |byte: &u8| match byte {
                    b' ' => blank.as_bytes().to_vec(),
                    byte if byte.is_ascii_alphanumeric() || kept.contains(byte) => vec![*byte],
                    byte => hex(*byte).into_bytes(),
                };
                forms.push(bytes.iter().flat_map(escape).collect());
            }
        }
    }
    forms
}

/// Returns what is no text as it may stand in JSON.
fn json_bytes(bytes: &[u8], slash: &str) -> Vec<u8> {
    let escape = |byte: &u8| match byte {
        b'"' => b"\\\"".to_vec(),
        b'\\' => b"\\\\".to_vec(),
        b'/' => slash.as_bytes().to_vec(),
        _ => vec![*byte],
    };
    bytes.iter().flat_map(escape).collect()
}

/// Returns a text as it may stand in JSON.
fn jsons(text: &str) -> Vec<Vec<u8>> {
    let hexes: [fn(u16) -> String; 2] =
        [|unit| format!("\\u{unit:04x}"), |unit| format!("\\u{unit:04X}")];
    let mut forms = Vec::new();
    for hex in hexes {
        for (plain_ascii, safe_in_pages) in
            [(false, false), (true, false), (false, true), (true, true)]
        {
            for slash in ["/", "\\/"] {
                let escape = |letter: char| match letter {
                    '"' => "\\\"".to_owned(),
                    '\\' => "\\\\".to_owned(),
                    '/' => slash.to_owned(),
                    '&' | '<' | '>' | '\'' if safe_in_pages => hex(letter as u16),
                    letter if plain_ascii && !letter.is_ascii() => {
                        letter.encode_utf16(&mut [0; 2]).iter().map(|unit| hex(*unit)).collect()
                    }
                    letter => letter.to_string(),
                };
                forms.push(text.chars().map(escape).collect::<String>().into_bytes());
            }
        }
    }
    forms
}

/// Returns a text as it may stand in a web page.
fn pages(text: &str) -> Vec<Vec<u8>> {
    const QUOTES: [(&str, &str); 4] =
        [("&quot;", "&#39;"), ("&quot;", "&#x27;"), ("&#34;", "&#39;"), ("\"", "'")];
    let page = |(double, single): (&str, &str)| {
        let escape = |letter: char| match letter {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => double.to_owned(),
            '\'' => single.to_owned(),
            letter => letter.to_string(),
        };
        text.chars().map(escape).collect::<String>().into_bytes()
    };
    QUOTES.map(page).to_vec()
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
    fn escapes_are_those_of_json_addresses_and_pages() {
        assert!(escaped(b"plain-text_1.2").is_empty());
        let text = |forms: Vec<Vec<u8>>| -> Vec<String> {
            forms.into_iter().map(|form| String::from_utf8(form).unwrap()).collect()
        };
        let has = |value: &str, form: &str| {
            let forms = text(escaped(value.as_bytes()));
            assert!(forms.contains(&form.to_owned()), "{form} in {forms:?}");
        };
        for form in ["a%2Fb%22%2B", "a%2fb%22%2b", "a/b\\\"+", "a\\/b\\\"+", "a/b%22%2B"] {
            has("a/b\"+", form);
        }
        has("a b=", "a+b%3D");
        has("a b=", "a%20b=");
        has("p\u{e4}ss\u{1f511}", "p\\u00e4ss\\ud83d\\udd11");
        has("a&b<c>'", "a\\u0026b\\u003cc\\u003e\\u0027");
        has("a&b<c>'\"", "a&amp;b&lt;c&gt;&#39;&quot;");
        assert!(escaped(b"\xff/\"").contains(&b"\xff\\/\\\"".to_vec()));
        assert_eq!(unescaped(b"a%2Fb%2f%4%zz%"), b"a/b/%4%zz%");
    }
}
