//! Reading: pages of text, images, raw bytes.

use sha2::{Digest, Sha256};
use zonekeep_policy::Place;

use crate::fault::Fault;
use crate::hash::{self, Hasher};
use crate::page::{Pager, Utf8Check, Utf16};
use crate::root::{File, Store};
use crate::target::{open_file, within};
use crate::text::{Encoding, LineEndings, Looks, decode_1252, looks_like};

/// The most characters that a page can have.
pub const MAX_CHARS: usize = 200_000;
/// Files up to this size are read to the end, so that their lines are counted
/// and their content is named.
pub const WHOLE: u64 = 64 * 1024 * 1024;
/// The largest image that is read.
pub const MAX_IMAGE: u64 = 20 * 1024 * 1024;
/// How much is read at once.
const CHUNK: usize = 128 * 1024;

/// Which lines to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The first line, counted from 1.
    pub offset: u64,
    /// The most lines.
    pub limit: u64,
    /// The most characters; more than [`MAX_CHARS`] counts as that.
    pub max_chars: usize,
}

impl Default for Page {
    fn default() -> Self {
        Page { offset: 1, limit: 2_000, max_chars: MAX_CHARS }
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A page of text.
    Text(Text),
    /// A whole image.
    Image {
        /// The file's bytes.
        bytes: Vec<u8>,
        /// What kind of image it is.
        mime: &'static str,
        /// The name of the content.
        hash: String,
    },
}

/// What ended a page before the text did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The number of lines.
    Lines,
    /// The size.
    Bytes,
}

/// A page of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The lines with their ends. All pages of a file one after the other are
    /// its text, unless a line was cut.
    pub content: String,
    /// The size of the file.
    pub bytes: u64,
    /// How many lines the file has, if it was read to the end.
    pub total_lines: Option<u64>,
    /// The number of the page's first line.
    pub first_line: u64,
    /// How many lines the page has.
    pub output_lines: u64,
    /// Whether text after the page, or of its last line, is missing.
    pub truncated: bool,
    /// What ended the page.
    pub truncated_by: Option<Cut>,
    /// The line to go on from.
    pub next_offset: Option<u64>,
    name: Name,
    /// The encoding, as far as the file was read.
    pub encoding: Encoding,
    /// The line endings, as far as the file was read.
    pub line_endings: LineEndings,
    /// Whether the page is the start of a line that is longer than a page.
    pub cut_line: bool,
}

/// What is known of the name of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// The page is the file byte for byte; its name is found when it is asked for.
    OfPage,
    /// Found while reading; none for a file that was not read to the end.
    Found(Option<String>),
}

impl Text {
    /// Returns the name of the content, if the file was read to the end.
    pub fn hash(&self) -> Option<String> {
        match &self.name {
            Name::OfPage => Some(hash::hash(self.content.as_bytes())),
            Name::Found(hash) => hash.clone(),
        }
    }
}

/// Part of a file as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bytes {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The size of the file.
    pub size: u64,
    /// Whether the file has more after these.
    pub more: bool,
    /// The name of the whole content, for files up to [`WHOLE`].
    pub hash: Option<String>,
}

/// Reads a page of text, or an image.
pub fn read(store: &dyn Store, place: &Place, page: &Page) -> Result<Content, Fault> {
    let file = open_file(store, place)?;
    let size = file.meta().size;
    // One byte more than expected, so that a short read shows the end.
    let mut buffer = vec![0; size.saturating_add(1).clamp(4096, CHUNK as u64) as usize];
    let length = read_full(&*file, &mut buffer, 0)?;
    match looks_like(&buffer[..length]) {
        Looks::Text => read_text(&*file, place, page, buffer, length).map(Content::Text),
        Looks::Binary(mime) => Err(Fault::Binary { mime, size }),
        Looks::Image(mime) => {
            let limit = place.max_file_bytes().map_or(MAX_IMAGE, |limit| limit.min(MAX_IMAGE));
            let bytes = read_up_to(&*file, limit)?;
            let hash = hash::hash(&bytes);
            Ok(Content::Image { bytes, mime, hash })
        }
    }
}

/// Reads up to `limit` bytes from `offset` on.
pub fn read_bytes(
    store: &dyn Store,
    place: &Place,
    offset: u64,
    limit: usize,
) -> Result<Bytes, Fault> {
    let file = open_file(store, place)?;
    let size = file.meta().size;
    let left = size.saturating_sub(offset);
    let mut bytes = vec![0; left.min(limit as u64) as usize];
    let length = read_full(&*file, &mut bytes, offset)?;
    bytes.truncate(length);
    let hash = match size {
        _ if offset == 0 && length as u64 == size => Some(hash::hash(&bytes)),
        0..=WHOLE => Some(hash_of(&*file)?),
        _ => None,
    };
    Ok(Bytes { more: left > length as u64, bytes, size, hash })
}

/// Reads a whole file of at most `cap` bytes.
pub fn read_whole(store: &dyn Store, place: &Place, cap: u64) -> Result<Vec<u8>, Fault> {
    let file = open_file(store, place)?;
    let cap = place.max_file_bytes().map_or(cap, |limit| limit.min(cap));
    read_up_to(&*file, cap)
}

/// Reads a whole open file of at most `limit` bytes.
pub(crate) fn read_up_to(file: &dyn File, limit: u64) -> Result<Vec<u8>, Fault> {
    let size = file.meta().size;
    if size > limit {
        return Err(Fault::TooLarge { size, limit });
    }
    let mut bytes = vec![0; size as usize + 1];
    let mut length = 0;
    loop {
        length += read_full(file, &mut bytes[length..], length as u64)?;
        if length < bytes.len() {
            bytes.truncate(length);
            return Ok(bytes);
        }
        // It grew while it was read.
        if length as u64 > limit {
            return Err(Fault::TooLarge { size: length as u64, limit });
        }
        bytes.resize(length + CHUNK, 0);
    }
}

/// Names the content of an open file without keeping it.
pub(crate) fn hash_of(file: &dyn File) -> Result<String, Fault> {
    let size = file.meta().size;
    let mut buffer = vec![0; size.saturating_add(1).clamp(4096, CHUNK as u64) as usize];
    let mut hasher = Hasher::default();
    let mut position = 0;
    loop {
        let length = read_full(file, &mut buffer, position)?;
        hasher.update(&buffer[..length]);
        position += length as u64;
        if length < buffer.len() {
            return Ok(hasher.finish());
        }
    }
}

/// Returns the SHA-256 of an open file of at most `limit` bytes.
pub(crate) fn sha256_of(file: &dyn File, limit: u64) -> Result<[u8; 32], Fault> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; file.meta().size.saturating_add(1).clamp(4096, CHUNK as u64) as usize];
    let mut done = 0;
    loop {
        match file.read_at(&mut buffer, done)? {
            0 => return Ok(hash.finalize().into()),
            length => {
                hash.update(&buffer[..length]);
                done += length as u64;
            }
        }
        if done > limit {
            return Err(Fault::TooLarge { size: file.meta().size.max(done), limit });
        }
    }
}

/// Fills the buffer, except at the end of the file.
fn read_full(file: &dyn File, buffer: &mut [u8], offset: u64) -> Result<usize, Fault> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], offset + length as u64)? {
            0 => break,
            read => length += read,
        }
        // Regular files give all they have: no second call to see the end.
        if offset + length as u64 >= file.meta().size {
            break;
        }
    }
    Ok(length)
}

/// Pages through a file whose first `length` bytes are in `buffer`.
fn read_text(
    file: &dyn File,
    place: &Place,
    page: &Page,
    mut buffer: Vec<u8>,
    mut length: usize,
) -> Result<Text, Fault> {
    let max_chars = page.max_chars.clamp(1, MAX_CHARS);
    let first = page.offset.max(1);
    let mut pager = Pager::new(first, page.limit.max(1), max_chars * 4 + 4);
    if length < buffer.len() && first == 1 && length <= max_chars {
        within(place, length as u64)?;
        match whole_page(file, page, buffer, length) {
            Ok(text) => return Ok(text),
            Err(given_back) => buffer = given_back,
        }
    }
    let (mark, mark_length) = Encoding::by_mark(&buffer[..length]).unwrap_or_default();
    let mut utf16 = match mark {
        Encoding::Utf16Le | Encoding::Utf16Be => Some(Utf16::new(mark)),
        _ => None,
    };
    let mut utf8 = Utf8Check::default();
    let mut hasher = Hasher::default();
    let mut position = 0;
    let whole = loop {
        let chunk = &buffer[..length];
        let text = &chunk[if position == 0 { mark_length } else { 0 }..];
        match &mut utf16 {
            Some(decoder) => pager.feed(decoder.feed(text).as_bytes()),
            None => {
                utf8.feed(text);
                pager.feed(text);
            }
        }
        position += length as u64;
        within(place, position)?;
        let large = file.meta().size > WHOLE;
        if !large {
            hasher.update(chunk);
        }
        if length < buffer.len() {
            break true;
        }
        if large && pager.is_done() && position < file.meta().size {
            break false;
        }
        length = read_full(file, &mut buffer, position)?;
    };
    if whole && let Some(decoder) = &mut utf16 {
        pager.feed(decoder.finish().as_bytes());
    }
    let total_lines = whole.then(|| pager.lines());
    if let Some(total_lines) = total_lines
        && first > total_lines.max(1)
    {
        return Err(Fault::PastEnd { total_lines });
    }
    let (lf, crlf) = pager.endings();
    let line_endings = LineEndings::of_counts(lf, crlf);
    let mut kept = std::mem::take(&mut pager.kept);
    let (encoding, mut text) = if utf16.is_some() || utf8.is_valid(whole) {
        (mark, utf8_prefix(kept))
    } else {
        if first == 1 && mark == Encoding::Utf8Bom {
            kept.splice(..0, *b"\xEF\xBB\xBF");
        }
        (Encoding::Windows1252, decode_1252(&kept))
    };
    if line_endings == LineEndings::CrLf {
        text = text.replace("\r\n", "\n");
    }
    let cut = cut_to_chars(&text, max_chars, pager.capped);
    text.truncate(cut.end);
    let more = cut.short || pager.after || pager.capped || !whole;
    let next = first + cut.lines;
    let next_offset = (more && total_lines.is_none_or(|total| next <= total)).then_some(next);
    Ok(Text {
        content: text,
        bytes: file.meta().size.max(if whole { position } else { 0 }),
        total_lines,
        first_line: first,
        output_lines: cut.lines,
        truncated: more,
        truncated_by: match more {
            true if cut.short || pager.capped => Some(Cut::Bytes),
            true => Some(Cut::Lines),
            false => None,
        },
        next_offset,
        name: Name::Found(
            (whole && position <= WHOLE && file.meta().size <= WHOLE).then(|| hasher.finish()),
        ),
        encoding,
        line_endings,
        cut_line: cut.inside_line,
    })
}

/// Makes the page of a small file that is wanted whole and is its own text:
/// UTF-8 without a mark, lines ended by LF. That is the usual case, and needs
/// neither a copy nor a second look. Gives the buffer back in any other.
fn whole_page(
    file: &dyn File,
    page: &Page,
    mut buffer: Vec<u8>,
    length: usize,
) -> Result<Text, Vec<u8>> {
    let bytes = &buffer[..length];
    let ended = memchr::memchr_iter(b'\n', bytes).count() as u64;
    let lines = ended + u64::from(bytes.last().is_some_and(|&last| last != b'\n'));
    let marked = Encoding::by_mark(bytes).is_some();
    if marked || lines > page.limit.max(1) || memchr::memchr(b'\r', bytes).is_some() {
        return Err(buffer);
    }
    let room = buffer.len();
    buffer.truncate(length);
    let content = String::from_utf8(buffer).map_err(|error| {
        let mut buffer = error.into_bytes();
        buffer.resize(room, 0);
        buffer
    })?;
    Ok(Text {
        content,
        bytes: file.meta().size.max(length as u64),
        total_lines: Some(lines),
        first_line: 1,
        output_lines: lines,
        truncated: false,
        truncated_by: None,
        next_offset: None,
        name: Name::OfPage,
        encoding: Encoding::Utf8,
        line_endings: LineEndings::of_counts(ended, 0),
        cut_line: false,
    })
}

/// Returns the text up to a character that the bytes end inside of.
fn utf8_prefix(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let valid = error.utf8_error().valid_up_to();
        let mut bytes = error.into_bytes();
        bytes.truncate(valid);
        String::from_utf8(bytes).unwrap_or_default()
    })
}

/// Where a page ends.
struct End {
    end: usize,
    lines: u64,
    short: bool,
    inside_line: bool,
}

/// Finds how many whole lines fit; of a first line that does not, its start.
fn cut_to_chars(text: &str, max_chars: usize, capped: bool) -> End {
    let mut end = End { end: 0, lines: 0, short: false, inside_line: false };
    let mut chars = 0;
    for line in text.split_inclusive('\n') {
        chars += line.chars().count();
        let whole = line.ends_with('\n') || !capped;
        if chars > max_chars || !whole {
            end.short = true;
            if end.lines == 0 {
                let at = text.char_indices().nth(max_chars).map_or(text.len(), |(at, _)| at);
                end = End { end: at, lines: 1, short: true, inside_line: true };
            }
            break;
        }
        end.end += line.len();
        end.lines += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;
    use crate::write::{WriteOptions, write};
    use proptest::prelude::*;
    use zonekeep_policy::path::RelPath;

    fn stored(bytes: &[u8]) -> (MemoryStore, Place) {
        let store = MemoryStore::new();
        let place = Place::unchecked(RelPath::root().join(b"a"));
        write(&store, &place, bytes, &WriteOptions::default()).unwrap();
        (store, place)
    }

    fn page(bytes: &[u8], offset: u64, limit: u64, max_chars: usize) -> Result<Text, Fault> {
        let (store, place) = stored(bytes);
        match read(&store, &place, &Page { offset, limit, max_chars })? {
            Content::Text(text) => Ok(text),
            Content::Image { .. } => panic!("not an image"),
        }
    }

    #[test]
    fn pages_are_cut_at_lines() {
        let cases = [
            // text, offset, limit, chars, page, cut by, next, cut line
            ("", 1, 9, 99, "", None, None, false),
            ("a\nb\nc\n", 1, 9, 99, "a\nb\nc\n", None, None, false),
            ("a\nb\nc\n", 1, 2, 99, "a\nb\n", Some(Cut::Lines), Some(3), false),
            ("a\nb\nc\n", 3, 2, 99, "c\n", None, None, false),
            ("a\nb\nc", 2, 2, 99, "b\nc", None, None, false),
            ("aa\nbb\ncc\n", 1, 9, 7, "aa\nbb\n", Some(Cut::Bytes), Some(3), false),
            ("aaaaaa\nb\n", 1, 9, 3, "aaa", Some(Cut::Bytes), Some(2), true),
            ("ééééééé", 1, 9, 3, "ééé", Some(Cut::Bytes), None, true),
            ("a\r\nb\r\n", 1, 1, 9, "a\n", Some(Cut::Lines), Some(2), false),
        ];
        for (text, offset, limit, chars, want, by, next, cut_line) in cases {
            let got = page(text.as_bytes(), offset, limit, chars).unwrap();
            assert_eq!(got.content, want, "{text:?}");
            assert_eq!(
                (got.truncated_by, got.next_offset, got.cut_line),
                (by, next, cut_line),
                "{text:?}"
            );
            assert_eq!(got.truncated, by.is_some(), "{text:?}");
            assert_eq!(got.hash(), Some(hash::hash(text.as_bytes())), "{text:?}");
        }
    }

    #[test]
    fn a_page_after_the_end_says_how_many_lines_there_are() {
        let fault = page(b"a\nb\n", 3, 1, 9).unwrap_err();
        assert!(matches!(fault, Fault::PastEnd { total_lines: 2 }), "{fault:?}");
        assert!(page(b"", 2, 1, 9).is_err());
    }

    #[test]
    fn text_is_shown_whatever_its_encoding() {
        let utf16: Vec<u8> = [0xFF, 0xFE]
            .into_iter()
            .chain("é\nx\n".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        let cases: [(&[u8], &str, Encoding); 4] = [
            (b"\xEF\xBB\xBFhi\n", "hi\n", Encoding::Utf8Bom),
            (b"caf\xE9 \x93x\x94\n", "café “x”\n", Encoding::Windows1252),
            (&utf16, "é\nx\n", Encoding::Utf16Le),
            ("é\n".as_bytes(), "é\n", Encoding::Utf8),
        ];
        for (bytes, text, encoding) in cases {
            let got = page(bytes, 1, 9, 99).unwrap();
            assert_eq!((got.content.as_str(), got.encoding), (text, encoding));
        }
        let fault = page(b"a\0b", 1, 9, 99).unwrap_err();
        assert_eq!(fault.code(), "binary");
    }

    #[test]
    fn images_come_whole() {
        let bytes = b"\x89PNG\r\n\x1a\n\0\0\0";
        let (store, place) = stored(bytes);
        let got = read(&store, &place, &Page::default()).unwrap();
        let want =
            Content::Image { bytes: bytes.to_vec(), mime: "image/png", hash: hash::hash(bytes) };
        assert_eq!(got, want);
    }

    proptest! {
        #[test]
        fn the_pages_one_after_the_other_are_the_file(
            text in "([a-zé]{0,9}(\n|\r\n)?){0,40}", limit in 1u64..7, max_chars in 12usize..60,
        ) {
            let (store, place) = stored(text.as_bytes());
            let mut all = String::new();
            let mut offset = Some(1);
            let mut crlf = false;
            let mut cut = false;
            while let Some(at) = offset {
                let page = Page { offset: at, limit, max_chars };
                let Content::Text(got) = read(&store, &place, &page).unwrap() else { unreachable!() };
                all.push_str(&got.content);
                prop_assert!(got.next_offset.is_none_or(|next| next > at));
                offset = got.next_offset;
                crlf = got.line_endings == LineEndings::CrLf;
                cut |= got.cut_line;
            }
            prop_assume!(!cut);
            prop_assert_eq!(all, if crlf { text.replace("\r\n", "\n") } else { text });
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>(), offset in 0u64..9, limit in 0u64..9, max_chars in 0usize..9) {
            let _ = page(&bytes, offset, limit, max_chars);
        }
    }
}
