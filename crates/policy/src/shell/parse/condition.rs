//! `[[ … ]]`.

use super::list::Ended;
use super::scan::{is_blank, name_len};
use super::word::Manner;
use super::{Parsed, Parser, Word};

const BINARY: [&str; 13] =
    ["=", "==", "!=", "=~", "-ef", "-nt", "-ot", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// The comparisons that evaluate both sides as arithmetic.
const ARITHMETIC: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl Parser<'_> {
    /// Reads a condition as a command `[[` with its operands and operators.
    pub(super) fn condition(&mut self) -> Parsed<Ended> {
        let start = self.pos;
        let number = self.draft(start);
        self.pos += "[[".len();
        if !self.peek().is_some_and(is_blank) {
            return Err(self.unparsed("'[[' without a blank"));
        }
        let mut words = vec![Word::Known("[[".to_owned())];
        let mut open = 0_usize;
        loop {
            self.skip_blanks()?;
            if self.take("(") {
                open += 1;
                continue;
            }
            // Right before a parenthesis it may be a pattern.
            if self.looking_at("!(") {
                return Err(self.unparsed("'!' right before a parenthesis"));
            }
            if self.looking_at("!") && self.word_ends_at(1) {
                self.pos += 1;
                words.push(Word::Known("!".to_owned()));
                continue;
            }
            self.comparison(&mut words)?;
            loop {
                self.skip_blanks()?;
                if open == 0 || !self.take(")") {
                    break;
                }
                open -= 1;
            }
            if self.take("&&") {
                words.push(Word::Known("&&".to_owned()));
            } else if self.take("||") {
                words.push(Word::Known("||".to_owned()));
            } else {
                break;
            }
        }
        if open > 0 || !self.at_condition_end() {
            return Err(self.unparsed("a condition that is not understood"));
        }
        self.pos += "]]".len();
        self.drafts[number].words = words;
        self.drafts[number].span = start..self.pos;
        self.redirects_of(number, start)?;
        Ok(Ended::Word)
    }

    fn at_condition_end(&self) -> bool {
        self.looking_at("]]") && self.word_ends_at(2)
    }

    /// Reads one operator with its operands, or one operand.
    fn comparison(&mut self, words: &mut Vec<Word>) -> Parsed<()> {
        if let Some(sign) = self.unary_ahead() {
            self.pos += 2;
            words.push(Word::Known(sign.to_owned()));
            self.skip_blanks()?;
            let operand = self.operand_word(Manner::Plain)?;
            words.push(match (sign, operand) {
                // They evaluate the subscript of `a[x]`.
                ("-v" | "-R" | "-t", operand) => unknown_unless(operand, |text| {
                    name_len(text.as_bytes()) == text.len() || is_number(text)
                }),
                (_, operand) => operand,
            });
            return Ok(());
        }
        let left = self.operand_word(Manner::Plain)?;
        self.skip_blanks()?;
        if self.at_condition_end()
            || self.looking_at("&&")
            || self.looking_at("||")
            || self.looking_at(")")
        {
            words.push(left);
            return Ok(());
        }
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| !is_blank(**byte) && **byte != b'\n').count();
        let sign = String::from_utf8_lossy(&rest[..length]).into_owned();
        let known = BINARY.contains(&sign.as_str()) || matches!(sign.as_str(), "<" | ">");
        // Without blanks `2<3` and `a=b` are something else.
        if !known || !self.text[..self.pos].ends_with([' ', '\t']) {
            return Err(self.unparsed("a condition that is not understood"));
        }
        self.pos += length;
        self.skip_blanks()?;
        let manner = if sign == "=~" { Manner::Regex } else { Manner::Plain };
        let right = self.operand_word(manner)?;
        let evaluated = ARITHMETIC.contains(&sign.as_str());
        let seen = |word| if evaluated { unknown_unless(word, is_number) } else { word };
        words.extend([seen(left), Word::Known(sign), seen(right)]);
        Ok(())
    }

    fn operand_word(&mut self, manner: Manner) -> Parsed<Word> {
        if self.at_condition_end() {
            return Err(self.unparsed("a condition without an operand"));
        }
        Ok(self.word(manner)?.word)
    }

    /// Returns the operator of one operand that comes next.
    fn unary_ahead(&self) -> Option<&'static str> {
        const UNARY: [&str; 26] = [
            "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-o", "-p", "-r", "-s",
            "-t", "-u", "-v", "-w", "-x", "-z", "-G", "-L", "-N", "-O", "-R", "-S",
        ];
        let here = |sign: &&&str| self.looking_at(sign) && self.word_ends_at(2);
        UNARY.iter().find(here).copied()
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn unknown_unless(word: Word, plain: impl Fn(&str) -> bool) -> Word {
    match word {
        Word::Known(text) if !plain(&text) => Word::Unknown { raw: text },
        Word::Glob { text, .. } => Word::Unknown { raw: text },
        word => word,
    }
}
