//! Arguments that are programs themselves: what of them surely only handles text.

/// Returns whether a sed script might write a file, read another or run a program.
///
/// `w`, `W`, `e`, `r`, `R` and the flags `w` and `e` of `s` do. What is not one of
/// a few shapes that surely do not is taken to.
pub(super) fn sed_script(text: &str) -> bool {
    !text.split([';', '\n']).all(|part| sed_is_plain(part.trim()))
}

/// Returns whether one sed command is an address with a command of one letter
/// that only handles text, or a replacement with harmless flags.
fn sed_is_plain(part: &str) -> bool {
    let address = |c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | '!' | ' ' | '~' | '+');
    let rest = part.trim_start_matches(address);
    let mut chars = rest.chars();
    match chars.next() {
        None => true,
        // An address by pattern: what follows it is a command of its own.
        Some('/') => match rest[1..].split_once('/') {
            Some((pattern, after)) if !pattern.contains(['\\', '[']) => {
                sed_is_plain(after.trim_start_matches(['I', 'M']))
            }
            _ => false,
        },
        Some(
            'p' | 'd' | 'q' | '=' | 'Q' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | 'z',
        ) => chars.as_str().trim_matches(|c: char| c == ' ' || c == '}').is_empty(),
        Some(kind @ ('s' | 'y')) => {
            let Some(mark) = chars.next().filter(|c| c.is_ascii_punctuation() && *c != '\\') else {
                return false;
            };
            let body = chars.as_str();
            // An escaped mark, or one in brackets, does not end a part.
            if body.contains(&format!("\\{mark}")) || body.contains('[') {
                return false;
            }
            let parts: Vec<&str> = body.split(mark).collect();
            let harmless = |c: char| c.is_ascii_digit() || "gpiIM".contains(c);
            match (kind, parts.as_slice()) {
                ('s', [_, _, flags]) => flags.trim_end().chars().all(harmless),
                ('y', [_, _, flags]) => flags.trim_end().is_empty(),
                _ => false,
            }
        }
        Some(_) => false,
    }
}

/// Returns whether a format sets a variable: by `%n`, which may have a width and
/// the like in the middle.
pub(crate) fn printf_assigns(text: &str) -> bool {
    text.split('%').skip(1).any(|part| {
        let between = |c: char| c.is_ascii_digit() || "-+ #'*.$hlLjqtz".contains(c);
        part.trim_start_matches(between).starts_with('n')
    })
}

/// Returns whether an awk program might run something, or touch other files.
pub(super) fn awk_script(text: &str) -> bool {
    // `>` and `|` are comparisons and alternatives too; the text alone does not say.
    ["system", "getline", "|", ">", "close", "@", "\\"].iter().any(|word| text.contains(word))
}

/// Returns whether a text for sqlite3 might run a program or touch other files.
///
/// A command with a dot can be shortened, so that all but a few are taken to.
pub(super) fn sqlite_script(text: &str) -> bool {
    const SHOWS: &[&str] =
        &["tables", "schema", "dump", "databases", "indexes", "headers", "mode", "help", "show"];
    let text = text.to_ascii_lowercase();
    let dotted = |line: &str| {
        let command = line.trim_start().strip_prefix('.')?;
        let name = command.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
        (!name.is_empty()).then(|| !SHOWS.contains(&name))
    };
    let reaches = ["load_extension", "writefile", "readfile", "edit(", "attach", "vacuum"];
    text.lines().filter_map(dotted).any(|bad| bad) || reaches.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sed_scripts_that_only_change_text_are_plain() {
        for plain in [
            "s/a/b/",
            "s/a/b/g",
            "1,5p",
            "$d",
            "/x/d",
            "/x/,/y/p",
            "s|a|b|",
            "y/ab/cd/",
            "5q",
            "=",
            "s/a b/c d/",
            "$!N",
            "1!G;h;$!d",
        ] {
            assert!(!sed_script(plain), "{plain}");
        }
        for bad in [
            "s/a/b/w out",
            "s/a/b/e",
            "w out",
            "1e id",
            "e",
            "s/a/b/;w x",
            "W x",
            "wout.txt",
            "1,2w/tmp/x",
            "/x/w y",
            "s/a/b/gw x",
            "s/[/]/x/e",
            "r /etc/passwd",
            "eid.sh",
            "file.txt",
            "s/a/b/\ne",
            "s,a,b,e",
            "s/\\//x/e",
            "/[/]/e",
        ] {
            assert!(sed_script(bad), "{bad}");
        }
    }
}
