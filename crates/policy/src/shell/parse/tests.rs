use super::*;

/// Shows a word: `?raw` is unknown, `*text` a pattern.
fn shown(word: &Word) -> String {
    match word {
        Word::Known(text) => text.replace('\n', "⏎"),
        Word::Glob { text, fixed } => format!("*{fixed}|{text}"),
        Word::Unknown { raw } => format!("?{raw}").replace('\n', "⏎"),
    }
}

fn shown_redirect(redirect: &Redirect) -> String {
    let sign = match redirect.kind {
        RedirectKind::Read => "<",
        RedirectKind::Write => ">",
        RedirectKind::Append => ">>",
        RedirectKind::Both => "<>",
        RedirectKind::Duplicate => "&",
        RedirectKind::Text => "<<",
    };
    format!("{}{sign}{}", redirect.fd.as_deref().unwrap_or_default(), shown(&redirect.target))
}

/// Shows the commands of a line, in words separated by `_`, with what else they have.
fn commands(text: &str) -> Vec<String> {
    let line = parse(text).unwrap_or_else(|why| panic!("{text:?}: {why}"));
    let show = |simple: &Simple| {
        let set = simple.assignments.iter().map(|(name, value)| format!("{name}={}", shown(value)));
        let words = simple.words.iter().map(shown);
        let redirects = simple.redirects.iter().map(shown_redirect);
        set.chain(words).chain(redirects).collect::<Vec<_>>().join("_")
    };
    line.commands.iter().map(show).collect()
}

fn check(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(commands(text), *expected, "{text:?}");
    }
}

#[test]
fn words_are_known_without_their_quotes() {
    check(&[
        ("", &[]),
        (" \n\t# only a comment", &[]),
        ("rm -rf x", &["rm_-rf_x"]),
        (r#"r''m \rm "rm" 'r'"m""#, &["rm_rm_rm_rm"]),
        (r#"echo "a\b\"\\\$\`" a\b 'a\b'"#, &[r#"echo_a\b"\$`_ab_a\b"#]),
        ("echo \"a\\\nb\" 'c\\\nd'", &["echo_ab_c\\⏎d"]),
        ("echo $'a\\tb\\x41\\101\\e\\'\\q'", &["echo_a\tbAA\x1b'\\q"]),
        (
            "echo $'\\cA' $'\\x7f' $'\\u00e9' $'\\xff' $'\\cb'",
            &["echo_?$'\\cA'_?$'\\x7f'_?$'\\u00e9'_?$'\\xff'_\x02"],
        ),
        ("echo $ a$ \"$\" $% 'é' é", &["echo_$_a$_$_$%_é_é"]),
        ("echo a#b c # d", &["echo_a#b_c"]),
        ("echo a \\\n  b\\\n c", &["echo_a_b_c"]),
        ("echo if then } { ! [[ ]] time", &["echo_if_then_}_{_!_*|[[_]]_time"]),
        ("[ -f x ]", &["[_-f_x_]"]),
        ("echo a=b x=y", &["echo_a=b_x=y"]),
        ("echo {} a{b {a} x}y HEAD@{1}..HEAD", &["echo_{}_a{b_{a}_x}y_HEAD@{1}..HEAD"]),
        ("echo HEAD~1 a~ \\~ '~'", &["echo_HEAD~1_a~_~_~"]),
    ]);
}

#[test]
fn what_the_shell_fills_in_is_unknown() {
    check(&[
        ("echo $x ${x} \"$x\" a$1b $@ $((1))", &["echo_?$x_?${x}_?\"$x\"_?a$1b_?$@_?$((1))"]),
        ("echo ~ ~/x ~root a=~ a:~ ''~", &["echo_?~_?~/x_?~root_?a=~_?a:~_?''~"]),
        ("echo {a,b} x{1..3} {a,{b}} a{,}", &["echo_?{a,b}_?x{1..3}_?{a,{b}}_?a{,}"]),
        ("echo *.c a/b?c x[ab] 'a*'b* \\*", &["echo_*|*.c_*a/b|a/b?c_*x|x[ab]_*a*b|a*b*_*"]),
        (
            "echo ${x:-a} ${x%%.*} ${#x} ${x[1]} ${x[@]}",
            &["echo_?${x:-a}_?${x%%.*}_?${#x}_?${x[1]}_?${x[@]}"],
        ),
        ("echo $\"hi\"", &["echo_?$\"hi\""]),
    ]);
}

#[test]
fn lists_and_groups_are_taken_apart() {
    check(&[
        ("a;b\nc&d&&e||f|g|&h", &["a", "b", "c", "d", "e", "f", "g", "h"]),
        ("a &\nb &", &["a", "b"]),
        ("a |\n\n b &&\n# c\n d", &["a", "b", "d"]),
        ("! a; ! ! b; time a; time -p b; time -- c; time -p -- d", &["a", "b", "a", "b", "c", "d"]),
        ("{ a; b; }; (c;d); { (e) }; ( (f) )", &["a", "b", "c", "d", "e", "f"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("if (a) then (b) fi", &["a", "b"]),
        ("while a; do b; done; until c\ndo d\ndone", &["a", "b", "c", "d"]),
        ("for x in a $(b) *; do c $x; done", &["b", "c_?$x"]),
        ("for x do a; done; for x; do b; done; for x\nin\ndo c; done", &["a", "b", "c"]),
        ("for ((i=0; i<$(a); i++)); do b; done", &["((_?i=0; i<$(a); i++", "a", "b"]),
        ("for ((;;)) do a; done", &["((_;;", "a"]),
        ("select x in a; do b; done", &["REPLY=?select ", "b"]),
        ("case $(a) in b|c) d;; (e) f;& g*) ;;& h) i\nesac", &["a", "d", "f", "i"]),
        ("case x in esac; case x in a) esac", &[]),
        ("case x in $(a)) b; esac", &["a", "b"]),
        ("(( 1+2 )); ((x)); (( $(a) ))", &["((_ 1+2 ", "((_?x", "((_? $(a) ", "a"]),
        ("f() { a; }; function g { b; }; function h() (c)\nk()\n{ d; }", &["a", "b", "c", "d"]),
    ]);
}

#[test]
fn substitutions_are_found_wherever_they_stand() {
    check(&[
        (
            "echo $(a $(b)) `c` \"$(d \"$(e)\")\" \"`f`\"",
            &[
                "echo_?$(a $(b))_?`c`_?\"$(d \"$(e)\")\"_?\"`f`\"",
                "a_?$(b)",
                "b",
                "c",
                "d_?\"$(e)\"",
                "e",
                "f",
            ],
        ),
        (
            "echo ${x:-$(a)} ${x/`b`/c} \"${x:+$(c)}\" ${x:$(d)} ${x[$(e)]}",
            &[
                "echo_?${x:-$(a)}_?${x/`b`/c}_?\"${x:+$(c)}\"_?${x:$(d)}_?${x[$(e)]}",
                "a",
                "b",
                "c",
                "d",
                "e",
            ],
        ),
        ("echo $((1+$(a)+`b`+${x:-$(c)}))", &["echo_?$((1+$(a)+`b`+${x:-$(c)}))", "a", "b", "c"]),
        ("cat <(a) >(b) < <(c)", &["cat_?<(a)_?>(b)_<?<(c)", "a", "b", "c"]),
        (
            "x=$(a) y[$(b)]=$(c) z=(1 $(d) [$(e)]=f) g",
            &[
                "x=?$(a)_y[$(b)]=?$(c)_z=?(1 $(d) [$(e)]=f)_g",
                "a",
                "b",
                "c",
                "d",
                "e",
                "((_?[$(e)]=",
            ],
        ),
        ("export a=$(b) c=($(d))", &["export_?a=$(b)_?c=($(d))", "b", "d"]),
        ("a > $(b) 2>`c` <<< $(d)", &["a_>?$(b)_2>?`c`_<<?$(d)", "b", "c", "d"]),
        ("[[ $(a) == `b` && -n \"$(c)\" ]]", &["[[_?$(a)_==_?`b`_&&_-n_?\"$(c)\"", "a", "b", "c"]),
        ("$(a) b", &["?$(a)_b", "a"]),
        (
            "echo $(case x in (a) b;; c) d;; esac)",
            &["echo_?$(case x in (a) b;; c) d;; esac)", "b", "d"],
        ),
        ("echo $(a # b\n)", &["echo_?$(a # b⏎)", "a"]),
        ("echo $() $(<f) `#x`", &["echo_?$()_?$(<f)_?`#x`", "<f"]),
        ("echo `grep 'a\\.b' f`", &["echo_?`grep 'a\\.b' f`", "grep_a\\.b_f"]),
    ]);
}

#[test]
fn redirections_stand_on_each_command_they_hold_for() {
    check(&[
        ("a <b >c >>d 2>e 2>>f <>g >|h &>i &>>j >&k", &["a_<b_>c_>>d_2>e_2>>f_<>g_>h_>i_>>j_>k"]),
        ("a 2>&1 >&2 <&3 2>&- >&3- 1>& 2", &["a_2&1_&2_&3_2&-_&3-_1&2"]),
        ("a2>b 2 >c \"2\">d {fd}>e {f}x", &["a2_2_2_{f}x_>b_>c_>d_{fd}>e"]),
        ("{ a; b >x; } >y; (c) 2>z", &["a_>y", "b_>y_>x", "c_2>z"]),
        ("for i in 1; do a; done <f | while b; do c; done >g", &["a_<f", "b_>g", "c_>g"]),
        ("f() { a; } >x", &["a_>x"]),
        (">x", &[">x"]),
        (">x a=1 b", &["a=1_b_>x"]),
        ("case x in esac >f", &[">f"]),
        ("((1)) >f; [[ x ]] >g", &["((_1_>f", "[[_x_>g"]),
        ("a <<<b c", &["a_c_<<b"]),
    ]);
}

#[test]
fn here_documents_are_read_after_their_line() {
    check(&[
        ("cat <<E\na $(b) \\$(c)\nE\nd", &["cat_<<?a $(b) \\$(c)⏎", "b", "d"]),
        ("cat <<'E'; d\na $(b)\nE", &["cat_<<a $(b)⏎", "d"]),
        ("cat <<\\E <<\"F\" | x\n$(a)\nE\n`b`\nF\nc", &["cat_<<$(a)⏎_<<`b`⏎", "x", "c"]),
        ("cat <<-E\n\t\ta\n\tb\n\tE\nc", &["cat_<<a⏎b⏎", "c"]),
        ("cat 3<<E # x\n\"quote' \\\\ \\a\nE", &["cat_3<<\"quote' \\ \\a⏎"]),
        ("echo $(cat <<E\n$(a)\nE\n) b", &["echo_?$(cat <<E⏎$(a)⏎E⏎)_b", "cat_<<?$(a)⏎", "a"]),
        ("{ cat; a; } <<E\nx\nE", &["cat_<<x⏎", "a_<<x⏎"]),
        ("(cat <<E)\nx\nE", &["cat_<<x⏎"]),
        ("if cat <<E; then\nx\nE\na; fi", &["cat_<<x⏎", "a"]),
        ("cat <<E\n$(cat <<F\n$(a)\nF\n)\nE", &["cat_<<?$(cat <<F⏎$(a)⏎F⏎)⏎", "cat_<<?$(a)⏎", "a"]),
        ("cat <<E\nE", &["cat_<<"]),
        (
            "git commit -m \"$(cat <<'EOF'\nit's (a & b; `c`\nEOF\n)\" && d",
            &[
                "git_commit_-m_?\"$(cat <<'EOF'⏎it's (a & b; `c`⏎EOF⏎)\"",
                "cat_<<it's (a & b; `c`⏎",
                "d",
            ],
        ),
    ]);
}

#[test]
fn assignments_are_told_from_words() {
    check(&[
        ("a=1", &["a=1"]),
        ("a=1 b+=2 c d=3", &["a=1_b=2_c_d=3"]),
        ("a= b", &["a=_b"]),
        ("a\\=1; \"a\"=1; 1a=2; a-b=3", &["a=1", "a=1", "1a=2", "a-b=3"]),
        ("a[0]=x a[i+1]+=y b", &["a[0]=x_a[i+1]=y_b"]),
        ("a=() b=(x\n# c )\ny) ls", &["a=?()_b=?(x⏎# c )⏎y)_ls"]),
        ("declare -a a=(x) b", &["declare_-a_?a=(x)_b"]),
    ]);
}

#[test]
fn conditions_are_commands_of_their_own() {
    check(&[
        ("[[ -f a && ! ( b == c* || d ) ]]", &["[[_-f_a_&&_!_b_==_*c|c*_||_d"]),
        ("[[ a < b ]] && [[ c =~ ^(x|y)+$ ]]", &["[[_a_<_b", "[[_c_=~_^(x|y)+$"]),
        ("[[ 1 -eq 2 ]]; [[ a -eq 'b[$(c)]' ]]", &["[[_1_-eq_2", "[[_?a_-eq_?b[$(c)]"]),
        ("[[ -v a ]]; [[ -v 'a[$(b)]' ]]", &["[[_-v_a", "[[_-v_?a[$(b)]"]),
    ]);
}

#[test]
fn what_evaluates_or_sets_a_variable_unseen_is_listed() {
    check(&[
        ("for x in $((y)); do a; done", &["((_?$((y))", "a"]),
        ("for x in $((1)); do a; done", &["a"]),
        ("case ${!x} in ${y@P}) a;; esac", &["((_?${!x}", "((_?${y@P}", "a"]),
        ("a < $((x)) <<< ${y:=1}", &["a_<?$((x))_<<?${y:=1}", "((_?$((x))", "((_?${y:=1}"]),
        ("a <<E\n${x[y]}\nE", &["a_<<?${x[y]}⏎", "((_?${x[y]}⏎"]),
        ("LANG=$((x)) ls", &["LANG=?$((x))_ls", "((_?$((x))"]),
        ("for PATH in /tmp; do ls; done", &["PATH=?for PATH", "ls"]),
        ("for http_proxy in x; do ls; done", &["http_proxy=?for http_proxy", "ls"]),
        ("ls {PATH}</dev/null", &["ls_{PATH}</dev/null", "PATH=?{PATH}<"]),
        ("{ ls; } {PATH}<f", &["ls_{PATH}<f", "PATH=?{PATH}<"]),
        ("ls {PATH}<<E\na\nE", &["ls_{PATH}<<a⏎", "PATH=?{PATH}<<"]),
    ]);
}

#[test]
fn whatever_is_not_certain_is_not_taken_apart() {
    let cases = [
        // Unfinished or wrong.
        "a 'b",
        "a \"b",
        "a `b",
        "a $(b",
        "a ${b",
        "a $((1",
        "a $((1)",
        "((1)",
        "(a",
        "{ a;",
        "a)",
        "a }; }",
        "if a; then b",
        "if a; then fi",
        "while a; done",
        "for",
        "for x in a",
        "case x in a) b",
        "a |",
        "a &&",
        "| a",
        "; a",
        "a;;",
        "& a",
        "a & & b",
        "a &; b",
        "a ||| b",
        "()",
        "( )",
        "{ }",
        "{a;}",
        "}",
        "fi",
        "then a",
        "a <",
        "a > >b",
        "a > 2>b",
        "a > {x}>b",
        "a <<E",
        "a <<E\nb",
        "a <<E\nb\n E",
        "a \\",
        "f()",
        "f() a",
        "$(;;)",
        "a (b)",
        "a=1 (b)",
        "[[ a",
        "[[ a b ]]",
        "[[ ]]",
        "[[ -n ]]",
        "[[ a ]] b",
        "{ a; } b",
        "f() { a; } b",
        "! ",
        "time",
        "a | ! b",
        "a | time b",
        "in",
        "do",
        "]]",
        "for x in a; do; done",
        "case x in a b) c;; esac",
        "case in in) a;; esac b",
        "for x\n; do a; done",
        "a=(b",
        "a=(b;c)",
        "a=(b)c",
        "[[ a\n]]",
        "[[ !&& a ]]",
        "[[ ! ]]",
        "[[ !(a) ]]",
        "case x in a|b c) d;; esac",
        // Right, perhaps, and not followed.
        "coproc a",
        "echo @(a|b)",
        "echo !(a)",
        "!(a)",
        "$[1]",
        "echo ${ a; }",
        "echo ${|a;}",
        "((a) )",
        "$((a) )",
        "((a); (b))",
        "echo $((a); (b))",
        "echo `a \\`b\\``",
        "echo \"`a \"b\"`\"",
        "ec\\\nho",
        "a &\\\n& b",
        "echo $\\\n(a)",
        "echo \"$\\\n(a)\"",
        "a <<E\nb\\\nE\nE",
        "a <<$x\nb\n$x",
        "a <<''\nb\n\n",
        "(a <<E\nE)\nE\n)",
        "a <<E $(\nb)\nE\n",
        "a <<E 'b\nc'\nE\n",
        "a <<E \\\n b\nE\n",
        "ls[ a; b ]=1",
        "a[1",
        "a=([b c]=d)",
        "a=([b]*)",
        ">&-rm x",
        "a >&-b",
        "a <&b",
        "99999>a",
        "echo {$,x}[y]",
        "echo {a,`b`}",
        "echo {a,$(b)}",
        "echo {Z..a}c",
        "time -f x a",
        "echo ${x:-'a'\"b\"",
        "echo \"${x:-'a'}\"",
        "echo ${x:-<(a)}",
        "echo ${x:-{}",
        "a<(b)",
        "2<(b)",
        "cat <((b))",
        "f() ((1))",
        "f() [[ a ]]",
        "if() { a; }",
        "a'b'() { c; }",
        "function if { a; }",
        "function a'b' { c; }",
        "a=1 if",
        ">x { a; }",
        ">x if",
        "echo $'\\0'",
        "echo $'a\\x'",
        "echo $'\\c1'",
        "for x { a; }",
        "for ((;;)) { a; }",
        "for ((a;b)); do c; done",
        "for 1 in a; do b; done",
        "echo ${x!}",
        "echo ${!x:-y}",
        "case x in if) a;; esac",
        "< àrm ls -rf x",
        "echo Å",
        "a <<-E\n\t$(b\n)\nE\n",
        "[[ 2<3 ]]",
        "((a<(b)))",
        "((\"a\"))",
        "{<(a) b\n}",
        "if<(a)",
        "cat <<E<(a)\nE<(a)\n",
        "a=(b)<(c)",
        "\\declare a=(b)",
        "declare a[0]=(b)",
        "for x<(a) in b; do c; done",
        "a >&-<(b)",
        // Bash 5.2 itself gets these wrong, or differently.
        "-c a",
        "echo $(a # )\n)",
        "echo $(a # it's\n)",
        "+x",
        "a $(time b)",
        "a <(time b)",
        "a $(b <<E; c d\nE\n)",
        "a $(b <<E | c; d e\nE\n)",
        "a $(b <<E\nE\nc; d e)",
        "a $({ b <<E\nE\n})",
        // Characters.
        "a\rb",
        "a\r\nb",
        "a\0b",
        "a\x1b[31m",
        "a\x7f",
        "a\u{9b}b",
        "'\u{1}'",
    ];
    for text in cases {
        assert!(parse(text).is_err(), "{text:?}: {:?}", commands(text));
    }
}

#[test]
fn a_command_knows_what_it_stands_in() {
    use Within::{
        Background, Compound, Function, Pipeline, ProcessSubstitution, Subshell, Substitution,
    };
    let cases: [(&str, &[&[Within]]); 9] = [
        ("a; { b; }", &[&[], &[]]),
        ("a | b", &[&[Pipeline], &[Pipeline]]),
        ("a && b & c", &[&[Background], &[Background], &[]]),
        ("(a | (b))", &[&[Subshell, Pipeline], &[Subshell, Pipeline, Subshell]]),
        ("a $(b | c)", &[&[], &[Substitution, Pipeline], &[Substitution, Pipeline]]),
        ("a <(b) `c`", &[&[], &[ProcessSubstitution], &[Substitution]]),
        ("f() { a; }", &[&[Function]]),
        ("if a; then b | c; fi", &[&[Compound], &[Compound, Pipeline], &[Compound, Pipeline]]),
        ("a <<E | b\n$(c)\nE", &[&[Pipeline], &[Pipeline], &[Substitution]]),
    ];
    for (text, expected) in cases {
        let line = parse(text).unwrap();
        let within: Vec<_> = line.commands.iter().map(|simple| simple.within.as_slice()).collect();
        assert_eq!(within, expected, "{text}");
    }
}

#[test]
fn a_name_that_the_line_defines_is_marked() {
    for text in ["ls() { rm x; }; ls", "ls; function ls { rm x; }", "(ls() { rm x; }); 'l's y"] {
        let line = parse(text).unwrap();
        let ls = line.commands.iter().filter(|c| c.words[0].known() == Some("ls"));
        assert!(ls.clone().count() == 1 && ls.clone().all(|c| c.redefined), "{text}");
        assert!(line.commands.iter().any(|c| c.words[0].known() == Some("rm") && !c.redefined));
    }
}

#[test]
fn the_text_is_what_is_written() {
    let text = "A=1  ls  -l >x | wc; { echo `a b` ; }; [[ x ]] >y";
    let line = parse(text).unwrap();
    let texts: Vec<_> = line.commands.iter().map(|simple| simple.text.as_str()).collect();
    assert_eq!(texts, ["A=1  ls  -l >x", "wc", "echo `a b`", "a b", "[[ x ]]"]);
}

#[test]
fn long_and_deep_lines_end_soon() {
    let why = |text: &str| parse(text).unwrap_err().why;
    assert_eq!(why(&"a ".repeat(512 * 1024)), "the line is too long");
    assert_eq!(why(&"a ".repeat(100_000)), "the line is too long");
    for open in [
        "$(", "{ ", "(a;", "`a \\", "\"${a:-", "a $(", "if ", "<(", "$((", "((", "f() ", "f() { ",
        "[[ ( ", "! ", "((a+(",
    ] {
        let deep = open.repeat(10_000);
        assert!(parse(&deep[..deep.len().min(MAX_TEXT)]).is_err(), "{open}");
    }
    for (open, close) in [("$(", ")"), ("{ ", ";}"), ("(", " )"), ("${a:-", "}")] {
        let nested = |depth| format!("{}a{}", open.repeat(depth), close.repeat(depth));
        assert!(parse(&nested(MAX_DEPTH + 1)).is_err(), "{open}");
    }
    assert!(parse(&format!("{}a{}", "$(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH))).is_ok());
    assert_eq!(parse(&"a ".repeat(MAX_TEXT / 2)).unwrap().commands[0].words.len(), MAX_TEXT / 2);
    assert_eq!(parse(&"a;".repeat(MAX_TEXT / 2)).unwrap().commands.len(), MAX_TEXT / 2);
    assert_eq!(parse(&"a|".repeat(MAX_TEXT / 2)).unwrap_err().why, "a command is missing");
    let copies = format!("{{ {} }} {}", "a;".repeat(10_000), ">b".repeat(10_000));
    assert_eq!(why(&copies), "too many redirections");
    let long = "b".repeat(30_000);
    for redirect in [format!(">{long}"), format!("<<E\n{long}\nE")] {
        let copies = format!("{{ {} }} {redirect}", "a;".repeat(10_000));
        assert_eq!(why(&copies), "too many redirections");
    }
}
