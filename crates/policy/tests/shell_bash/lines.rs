//! Makes random command lines out of harmless parts.

/// A small generator of numbers: the same seed gives the same lines.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % sides as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A line, and what is sure about it.
pub(crate) struct Made {
    pub(crate) text: String,
    /// Whether every command of it runs once.
    pub(crate) straight: bool,
    pub(crate) mutated: bool,
}

/// Makes a line.
pub(crate) fn line(dice: &mut Dice) -> Made {
    let straight = dice.chance(50);
    let mut maker = Maker { dice, straight, documents: Vec::new(), number: 0 };
    let mut text = maker.list(3);
    text.push_str(&maker.documents_after());
    let mutated = dice.chance(60);
    if mutated {
        for _ in 0..=dice.below(3) {
            text = mutate(dice, &text);
        }
    }
    Made { text, straight, mutated }
}

const PARTS: &[&str] = &[
    "'",
    "\"",
    "`",
    "$(",
    ")",
    "(",
    "{ ",
    "}",
    "; }",
    "$((",
    "))",
    "((",
    "\\",
    "\n",
    ";",
    ";;",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    "<",
    ">",
    "<<E\n",
    "<<-E",
    "<<'E'",
    "<<<",
    ">&",
    ">&-",
    "<&",
    "<(",
    ">(",
    "&>",
    "&>>",
    "#",
    " #",
    "$",
    "${",
    "[[ ",
    " ]]",
    "[",
    "]",
    "=",
    "a=",
    "a=(",
    "a[",
    "]=",
    "!",
    "! ",
    "~",
    "*",
    "?",
    "{a,b}",
    "..",
    "-",
    "1",
    "2>",
    "{x}>",
    "if ",
    "then ",
    "fi",
    "do ",
    "done",
    "case x in ",
    "esac",
    "in ",
    "for x in ",
    "function f ",
    "f()",
    "time ",
    " ",
    "\t",
    "$'",
    "$\"",
    "\\\n",
    "E\n",
    "\nE\n",
    ":-",
    "%",
    "@P",
    "^",
    ",",
    "c1",
    "c2 ",
    "é",
    "+=",
    "a",
    "$x",
    "=~",
    "==",
    "-eq",
    "-v",
    "$[",
    "@(",
    "!(",
    ";&",
    ";;&",
    ":=",
    "$!",
    "$#",
    "\\\\",
    "else ",
    "elif ",
    "\n\n",
    "${x",
    "{1..3}",
    "x=",
    "export ",
    "$(<in)",
    "1>",
    ">&2",
    "coproc ",
    "select x in ",
    "time -p ",
];

fn mutate(dice: &mut Dice, text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let from = dice.below(chars.len() + 1);
    let to = (from + dice.below(4)).min(chars.len());
    let (before, middle, after) = (&chars[..from], &chars[from..to], &chars[to..]);
    let glue = |parts: &[&[char]]| parts.concat().into_iter().collect::<String>();
    let part: Vec<char> = dice.pick(PARTS).chars().collect();
    match dice.below(5) {
        0 => glue(&[before, after]),
        1 => glue(&[before, middle, middle, after]),
        2 => glue(&[before, &part, after]),
        3 => glue(&[before, after, middle]),
        _ => glue(&[before, &part, middle, after]),
    }
}

struct Maker<'a> {
    dice: &'a mut Dice,
    straight: bool,
    /// The here-documents of the line so far.
    documents: Vec<String>,
    number: usize,
}

impl Maker<'_> {
    /// Returns the text of the here-documents, to come after the line.
    fn documents_after(&mut self) -> String {
        if self.documents.is_empty() {
            return String::new();
        }
        let text = self.documents.drain(..).collect::<String>();
        format!("\n{text}")
    }

    fn list(&mut self, depth: usize) -> String {
        let mut text = self.pipeline(depth);
        for _ in 0..self.dice.below(3) {
            let straight = ["; ", ";", "\n", " | ", "|", " |& ", " & ", "; # x\n", " \\\n| "];
            let any = ["; ", "\n", " && ", "||", " | ", " & ", " &&\n", " ||\n\n"];
            let separator =
                if self.straight { self.dice.pick(&straight) } else { self.dice.pick(&any) };
            if separator.contains('\n') {
                if separator.starts_with(" \\") && !self.documents.is_empty() {
                    continue;
                }
                let documents = self.documents_after();
                let (before, after) = separator.split_once('\n').unwrap_or((separator, ""));
                text.push_str(before);
                text.push_str(if documents.is_empty() { "\n" } else { &documents });
                text.push_str(after);
            } else {
                text.push_str(separator);
            }
            text.push_str(&self.pipeline(depth));
        }
        text
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let prefix = match self.dice.below(20) {
            0 if !self.straight => "! ",
            1 if !self.straight => "time ",
            2 if !self.straight => "time -p ",
            _ => "",
        };
        format!("{prefix}{}", self.command(depth))
    }

    /// Returns a list for inside of something, with its own here-documents.
    fn inner(&mut self, depth: usize) -> String {
        let outer = std::mem::take(&mut self.documents);
        let mut text = self.list(depth - 1);
        text.push_str(&self.documents_after());
        self.documents = outer;
        text
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple(0);
        }
        let kinds = if self.straight { 8 } else { 24 };
        let body = |maker: &mut Self| maker.inner(depth);
        match self.dice.below(kinds) {
            0 => format!("{{ {}\n}}{}", body(self), self.redirects()),
            1 => format!("({}\n){}", body(self), self.redirects()),
            2..=7 => self.simple(depth),
            8 => format!("if {}\nthen {}\nfi", body(self), body(self)),
            9 => format!(
                "if {}; then {}; else {}; fi",
                self.simple(0),
                self.simple(0),
                self.simple(0)
            ),
            10 => format!("while {}; do {}\nbreak; done", self.simple(0), body(self)),
            11 => format!(
                "until {}\ndo {}\nbreak\ndone{}",
                body(self),
                self.simple(0),
                self.redirects()
            ),
            12 => format!("for x in {} {}; do {}\ndone", self.word(1), self.word(1), body(self)),
            13 => format!("for ((x=0; x<2; x++)); do {}; done", self.simple(0)),
            14 => format!(
                "case {} in {}) {};; (b|*) {}\nesac",
                self.word(1),
                self.word(1),
                self.simple(0),
                body(self)
            ),
            15 => format!("f1() {{ {}\n}}; f1 {}", body(self), self.word(0)),
            16 => format!("function f2 {{ {}; }}\nf2", self.simple(0)),
            17 => format!(
                "[[ {} {} {} ]]",
                self.word(1),
                self.dice.pick(&["==", "!=", "<", "="]),
                self.word(1)
            ),
            18 => format!(
                "[[ {} {} && -n {} ]]",
                self.dice.pick(&["!", "-n", "-z"]),
                self.plain(),
                self.word(1)
            ),
            19 => format!(
                "[[ {} =~ {} ]] && {}",
                self.plain(),
                self.dice.pick(&["^(a|b)$", "x+", "(a)"]),
                self.simple(0)
            ),
            20 => format!("(( {} ))", self.arithmetic()),
            21 => format!("export x={} b", self.word(1)),
            22 => format!("x=({} {} [1]={})", self.word(1), self.word(1), self.word(1)),
            _ => format!("x[{}]={}", self.arithmetic(), self.word(1)),
        }
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut text = String::new();
        if self.dice.chance(15) {
            text.push_str(&format!("x={} ", self.word(depth)));
        }
        if self.dice.chance(8) {
            text.push_str(self.dice.pick(&[">o1 ", "2>o2 ", "<in "]));
        }
        let number = self.dice.below(9) + 1;
        text.push_str(&match self.dice.below(8) {
            0 => format!("'c{number}'"),
            1 => format!("\\c{number}"),
            2 => format!("c\"{number}\""),
            _ => format!("c{number}"),
        });
        for _ in 0..self.dice.below(4) {
            text.push_str(
                self.dice
                    .pick(&[" ", "  ", "\t", " ", " \\\n"])
                    .replace("\\\n", if self.documents.is_empty() { "\\\n" } else { "" })
                    .as_str(),
            );
            text.push_str(&self.word(depth));
        }
        text.push_str(&self.redirects());
        if self.dice.chance(9) {
            text.push_str(&self.document(depth));
        }
        text
    }

    fn redirects(&mut self) -> String {
        const SOME: &[&str] = &[
            " >o1",
            " >>o1",
            " 2>o2",
            " 2>&1",
            " >&2",
            " <in",
            " <<<a",
            " 3<>o3",
            " >|o1",
            " &>o1",
            " &>>o1",
            " >&o1",
            " 3>&-",
            " {v}>o1",
            " <<<\"$x b\"",
            "<in>o1",
            " 1>o1 2>&1",
            " 3<in <&3",
        ];
        if self.dice.chance(15) { self.dice.pick(SOME).to_owned() } else { String::new() }
    }

    fn document(&mut self, depth: usize) -> String {
        self.number += 1;
        let name = format!("E{}", self.number);
        let (sign, shown, expands) = match self.dice.below(4) {
            0 => ("<<", format!("'{name}'"), false),
            1 => ("<<-", name.clone(), true),
            2 => (" <<", format!("\\{name}"), false),
            _ => (" <<", name.clone(), true),
        };
        let tab = if sign == "<<-" { "\t" } else { "" };
        let mut body = format!("{tab}a 'b\" c\n");
        if expands && depth > 0 {
            let inner = format!("c{} x", self.dice.below(9) + 1);
            body.push_str(&match self.dice.below(4) {
                0 => format!("{tab}$({inner})\n"),
                1 => format!("{tab}`{inner}` \\$(c1)\n"),
                2 => format!("{tab}${{x:-$({inner})}}\n"),
                _ => "$x\n".to_owned(),
            });
        } else if !expands {
            body.push_str("$(c1) `c2`\n");
        }
        self.documents.push(format!("{body}{tab}{name}\n"));
        format!(" {sign}{shown}")
    }

    fn plain(&mut self) -> &'static str {
        self.dice.pick(&[
            "a",
            "b",
            "-x",
            "'a b'",
            "\"c d\"",
            "a\\ b",
            "''",
            "a=b",
            "$'x\\ty'",
            "$'\\x41\\''",
            "\"a\\\"b\\c\"",
            "if",
            "}",
            "{",
            "{}",
            "a#b",
            "\"$\"",
            "a$",
            "é",
            "'$(c1)'",
            "\\$x",
            "\"`c1`\"'`'",
            "--a=b",
            "1",
            "2",
            "!",
            "a{b",
            "~",
            "*",
            "o?",
            "[io]*",
            "{a,b}",
            "x{1..2}",
            "\"\\`\"",
            "a\"\\\nb\"",
            "$\"t\"",
            "%",
            "a]",
            "'\n'",
            "]]",
            ":",
        ])
    }

    fn arithmetic(&mut self) -> String {
        match self.dice.below(6) {
            0 => "1+2".to_owned(),
            1 => "x".to_owned(),
            2 => "1<<2".to_owned(),
            3 => "(1+2)*3".to_owned(),
            4 => format!("$(c{} a)", self.dice.below(9) + 1),
            _ => format!("1+`c{}`", self.dice.below(9) + 1),
        }
    }

    fn word(&mut self, depth: usize) -> String {
        if depth == 0 || self.dice.chance(55) {
            return self.plain().to_owned();
        }
        let inner = |maker: &mut Self| maker.inner(depth);
        // In straight lines every part of a word is expanded, in order.
        match self.dice.below(if self.straight { 10 } else { 16 }) {
            0 | 1 => format!("$({})", inner(self).replace("$((", "$( (").trim_start_matches('(')),
            2 => format!("\"a $({}\n) b\"", self.simple_inner()),
            3 => format!("`{}`", self.short()),
            4 => format!("\"`{}`\"", self.short()),
            5 => format!("<({})", self.short()),
            6 => "$x".to_owned(),
            7 => format!("a$({})b'c'", self.short()),
            8 => format!("${{zz:-$({})}}", self.short()),
            9 => format!("$(( {} ))", self.arithmetic()),
            10 => format!("\"${{x:+$({})}}\"", self.short()),
            11 => format!("${{x%`{}`}}", self.short()),
            12 => self
                .dice
                .pick(&[
                    "${x}", "${#x}", "${x[1]}", "${x[@]}", "${x:1:2}", "${x@Q}", "${!x}", "$@",
                    "$#",
                ])
                .to_owned(),
            13 => format!("$(case a in a) {};; esac)", self.short()),
            14 => format!(">({})", self.short()),
            _ => format!("${{x//a/\"$({})\"}}", self.short()),
        }
    }

    fn simple_inner(&mut self) -> String {
        let outer = std::mem::take(&mut self.documents);
        let mut text = self.simple(1);
        text.push_str(&self.documents_after());
        self.documents = outer;
        text
    }

    /// Returns a command without quotes or anything else that matters in quotes.
    fn short(&mut self) -> String {
        let number = self.dice.below(9) + 1;
        format!(
            "c{number}{}",
            self.dice.pick(&["", " a", " a b", " $x", " -x 'y'", "; c1 z", " | c2"])
        )
    }
}
