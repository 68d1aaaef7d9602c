//! Encodings and line endings: what a file's bytes are as text, and back.

use crate::fault::Fault;

/// How a file's text is written as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// UTF-8 after a byte order mark.
    Utf8Bom,
    /// UTF-16, low byte first, after a byte order mark.
    Utf16Le,
    /// UTF-16, high byte first, after a byte order mark.
    Utf16Be,
    /// Windows-1252: what text is taken for that is neither of the others.
    Windows1252,
}

impl Encoding {
    /// Returns the usual name.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 | Encoding::Utf8Bom => "UTF-8",
            Encoding::Utf16Le => "UTF-16LE",
            Encoding::Utf16Be => "UTF-16BE",
            Encoding::Windows1252 => "windows-1252",
        }
    }

    /// Returns the encoding that a byte order mark names, and the mark's length.
    pub(crate) fn by_mark(head: &[u8]) -> Option<(Encoding, usize)> {
        match head {
            [0xEF, 0xBB, 0xBF, ..] => Some((Encoding::Utf8Bom, 3)),
            [0xFF, 0xFE, ..] => Some((Encoding::Utf16Le, 2)),
            [0xFE, 0xFF, ..] => Some((Encoding::Utf16Be, 2)),
            _ => None,
        }
    }

    fn mark(self) -> &'static [u8] {
        match self {
            Encoding::Utf8 | Encoding::Windows1252 => b"",
            Encoding::Utf8Bom => b"\xEF\xBB\xBF",
            Encoding::Utf16Le => b"\xFF\xFE",
            Encoding::Utf16Be => b"\xFE\xFF",
        }
    }
}

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineEndings {
    /// There is only one line, and nothing ends it.
    #[default]
    None,
    /// All with LF.
    Lf,
    /// All with CRLF.
    CrLf,
    /// Some with one, some with the other.
    Mixed,
}

impl LineEndings {
    /// Returns what the counts of all LFs, and of those after a CR, come to.
    pub(crate) fn of_counts(lf: u64, crlf: u64) -> Self {
        match (lf, crlf) {
            (0, _) => LineEndings::None,
            (_, 0) => LineEndings::Lf,
            (lf, crlf) if lf == crlf => LineEndings::CrLf,
            _ => LineEndings::Mixed,
        }
    }

    /// Returns how the lines of `text` end.
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (mut lf, mut crlf) = (0, 0);
        for at in memchr::memchr_iter(b'\n', bytes) {
            lf += 1;
            crlf += u64::from(at > 0 && bytes[at - 1] == b'\r');
        }
        Self::of_counts(lf, crlf)
    }
}

/// A whole file as text, with what is needed to write it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text: without byte order mark, and with LF where all lines end in CRLF.
    pub text: String,
    /// The encoding.
    pub encoding: Encoding,
    /// The line endings.
    pub endings: LineEndings,
}

impl Decoded {
    /// Reads bytes as text; `None` where that would lose something.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let (encoding, text) = match Encoding::by_mark(bytes) {
            Some((Encoding::Utf8Bom, mark)) => match std::str::from_utf8(&bytes[mark..]) {
                Ok(text) => (Encoding::Utf8Bom, text.to_owned()),
                Err(_) => (Encoding::Windows1252, decode_1252(bytes)),
            },
            Some((encoding, mark)) => {
                let units = bytes[mark..].chunks_exact(2);
                if !units.remainder().is_empty() {
                    return None;
                }
                let units = units.map(|pair| unit(encoding, [pair[0], pair[1]]));
                let text = char::decode_utf16(units).collect::<Result<String, _>>().ok()?;
                (encoding, text)
            }
            None => match std::str::from_utf8(bytes) {
                Ok(text) => (Encoding::Utf8, text.to_owned()),
                Err(_) => (Encoding::Windows1252, decode_1252(bytes)),
            },
        };
        let endings = LineEndings::of(&text);
        let text = if endings == LineEndings::CrLf { text.replace("\r\n", "\n") } else { text };
        Some(Decoded { text, encoding, endings })
    }

    /// Writes `text` as this file's bytes were written.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, Fault> {
        let with_crlf;
        let text = if self.endings == LineEndings::CrLf {
            with_crlf = text.replace('\n', "\r\n");
            &with_crlf
        } else {
            text
        };
        let mut bytes = self.encoding.mark().to_vec();
        match self.encoding {
            Encoding::Utf8 | Encoding::Utf8Bom => bytes.extend_from_slice(text.as_bytes()),
            Encoding::Utf16Le => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Encoding::Utf16Be => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
            Encoding::Windows1252 => {
                for character in text.chars() {
                    let encoding = self.encoding.name();
                    bytes.push(
                        encode_1252(character).ok_or(Fault::Unencodable { character, encoding })?,
                    );
                }
            }
        }
        Ok(bytes)
    }
}

/// Puts two bytes together.
pub(crate) fn unit(encoding: Encoding, pair: [u8; 2]) -> u16 {
    match encoding {
        Encoding::Utf16Be => u16::from_be_bytes(pair),
        _ => u16::from_le_bytes(pair),
    }
}

/// The characters of the bytes 80 to 9F. The five that the code page leaves
/// open stand for the control characters of the same number, so that nothing
/// is lost on the way there and back.
const HIGH_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Reads windows-1252; every byte is a character.
pub(crate) fn decode_1252(bytes: &[u8]) -> String {
    let decode = |&byte: &u8| match byte {
        0x80..=0x9F => HIGH_1252[usize::from(byte - 0x80)],
        byte => char::from(byte),
    };
    bytes.iter().map(decode).collect()
}

fn encode_1252(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ (0..=0x7F | 0xA0..=0xFF) => u8::try_from(code).ok(),
        _ => {
            let at = HIGH_1252.iter().position(|&high| high == character)?;
            u8::try_from(0x80 + at).ok()
        }
    }
}

/// What the first bytes of a file say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// Text, of an encoding still to be found.
    Text,
    /// An image that can be shown.
    Image(&'static str),
    /// Something else.
    Binary(&'static str),
}

/// How much of a file is looked at.
pub(crate) const HEAD: usize = 8 * 1024;

const UNKNOWN: &str = "application/octet-stream";

/// How many of these bytes are searched for control characters.
const SAMPLE: usize = 1024;

/// Says what a file is from its first bytes.
pub fn looks_like(head: &[u8]) -> Looks {
    let head = &head[..head.len().min(HEAD)];
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => {
            return Looks::Image("image/png");
        }
        [0xFF, 0xD8, 0xFF, ..] => return Looks::Image("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => return Looks::Image("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            return Looks::Image("image/webp");
        }
        [b'%', b'P', b'D', b'F', b'-', ..] => return Looks::Binary("application/pdf"),
        [b'P', b'K', 3, 4, ..] => return Looks::Binary("application/zip"),
        [0x1F, 0x8B, ..] => return Looks::Binary("application/gzip"),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => return Looks::Binary("application/zstd"),
        [0x7F, b'E', b'L', b'F', ..] => return Looks::Binary("application/x-executable"),
        _ => {}
    }
    if let Some((Encoding::Utf16Le | Encoding::Utf16Be, _)) = Encoding::by_mark(head) {
        return Looks::Text;
    }
    if memchr::memchr(0, head).is_some() {
        return Looks::Binary(UNKNOWN);
    }
    // Text has hardly any control characters; compressed data has one in ten, so that a
    // sample tells them apart. Where even with those that text may have there are few, it
    // needs no closer look.
    let odd = |&&byte: &&u8| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 8 | 12 | 0x1B);
    let sample = &head[..head.len().min(SAMPLE)];
    let most = sample.len() / 20;
    if controls(sample) > most && sample.iter().filter(odd).count() > most {
        return Looks::Binary(UNKNOWN);
    }
    Looks::Text
}

/// Counts control characters, in runs that the compiler can take at once.
fn controls(bytes: &[u8]) -> usize {
    let (runs, rest) = bytes.as_chunks::<64>();
    let count = |run: &[u8]| usize::from(run.iter().map(|&b| u8::from(b < 0x20)).sum::<u8>());
    runs.iter().map(|run| count(run)).sum::<usize>() + count(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_windows_1252_comes_back() {
        let bytes: Vec<u8> = (1..=255).collect();
        let decoded = Decoded::new(&bytes).unwrap();
        assert_eq!(decoded.encoding, Encoding::Windows1252);
        assert_eq!(decoded.encode(&decoded.text).unwrap(), bytes);
        let fault = decoded.encode("漢").unwrap_err();
        assert_eq!(fault.code(), "bad_edit");
    }

    #[test]
    fn text_comes_back_as_the_bytes_it_was() {
        let utf16 = |text: &str, mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
            let mut out = mark.to_vec();
            out.extend(text.encode_utf16().flat_map(bytes));
            out
        };
        let cases: Vec<(Vec<u8>, &str, Encoding, LineEndings)> = vec![
            (b"".to_vec(), "", Encoding::Utf8, LineEndings::None),
            (b"a\nb".to_vec(), "a\nb", Encoding::Utf8, LineEndings::Lf),
            (b"a\r\nb\r\n".to_vec(), "a\nb\n", Encoding::Utf8, LineEndings::CrLf),
            (b"a\r\nb\n".to_vec(), "a\r\nb\n", Encoding::Utf8, LineEndings::Mixed),
            (b"\xEF\xBB\xBFx\n".to_vec(), "x\n", Encoding::Utf8Bom, LineEndings::Lf),
            (b"caf\xE9\n".to_vec(), "café\n", Encoding::Windows1252, LineEndings::Lf),
            (
                utf16("a𝄞\r\n", b"\xFF\xFE", u16::to_le_bytes),
                "a𝄞\n",
                Encoding::Utf16Le,
                LineEndings::CrLf,
            ),
            (
                utf16("é\n", b"\xFE\xFF", u16::to_be_bytes),
                "é\n",
                Encoding::Utf16Be,
                LineEndings::Lf,
            ),
        ];
        for (bytes, text, encoding, endings) in cases {
            let decoded = Decoded::new(&bytes).unwrap();
            let want = Decoded { text: text.to_owned(), encoding, endings };
            assert_eq!(decoded, want);
            assert_eq!(decoded.encode(&decoded.text).unwrap(), bytes, "{text:?}");
        }
        assert_eq!(Decoded::new(b"\xFF\xFEa"), None, "half a unit");
        assert_eq!(Decoded::new(b"\xFF\xFE\x00\xD8"), None, "half a pair");
    }

    #[test]
    fn files_are_told_by_their_first_bytes() {
        let cases: [(&[u8], Looks); 9] = [
            (b"", Looks::Text),
            (b"fn main() {}\n", Looks::Text),
            (b"\x1b[1mbold\x1b[0m\n", Looks::Text),
            (b"\xFF\xFEa\0", Looks::Text),
            (b"a\0b", Looks::Binary(UNKNOWN)),
            (b"\x01\x02\x03\x04abc", Looks::Binary(UNKNOWN)),
            (b"%PDF-1.7", Looks::Binary("application/pdf")),
            (b"\x89PNG\r\n\x1a\n", Looks::Image("image/png")),
            (b"RIFF\0\0\0\0WEBP", Looks::Image("image/webp")),
        ];
        for (head, want) in cases {
            assert_eq!(looks_like(head), want, "{head:?}");
        }
    }
}
