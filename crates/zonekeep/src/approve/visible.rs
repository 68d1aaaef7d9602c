//! Text of an agent's, made safe to show on a terminal.

use zonekeep_policy::denial::is_invisible;

/// Returns `text` with every character that a terminal would act on, or that
/// shows nothing or reorders its neighbours, written out as `\u{…}`.
///
/// Line breaks and tabs stay; so does everything that is what it looks like.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_invisible(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_written_out() {
        let cases = [
            ("plain é 漢\tx\n", "plain é 漢\tx\n"),
            ("\x1b[2J", "\\u{1b}[2J"),
            ("a\rb", "a\\u{d}b"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("safe\u{202e}txt.exe", "safe\\u{202e}txt.exe"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
        ];
        for (text, want) in cases {
            assert_eq!(visible(text), want);
        }
    }
}
