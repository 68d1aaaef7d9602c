//! How questions look on a terminal, and how answers are read.

use super::*;
use crate::approve::Remember;

const PAGE: Page = Page::PLAIN;

fn request() -> Request {
    Request {
        tool: "write_file".into(),
        verb: "write".into(),
        path: "/output/a\u{202e}.md".into(),
        reasons: vec!["zones.output.approval.write: ask (zonekeep.yaml:4)".into()],
        details: vec![("append".into(), "false".into())],
        diff: Some("-old\n+new\x1b[2J\n".into()),
        ..Request::default()
    }
}

fn command(line: &str) -> Request {
    let part = |text: &str, approval: &str, why: &[&str], rule: Option<&str>| Part {
        text: text.into(),
        approval: approval.into(),
        why: why.iter().map(|why| (*why).to_owned()).collect(),
        rule: rule.map(str::to_owned),
    };
    let command = CommandAsked {
        line: line.into(),
        cwd: "/repo".into(),
        parts: vec![
            part("git status", "preApproved", &[], Some("zonekeep.yaml:7 git status")),
            part("git push", "ask", &["it sends"], Some("zonekeep.yaml:9 git push *: ask")),
            part("rm x", "ask", &["no rule says anything about it"], None),
        ],
        network: Some("example.org".into()),
        pattern: Some("git push".into()),
        background: true,
    };
    Request::of_command("s-1", "shell", command)
}

fn answer(typed: &str) -> Answer {
    PAGE.converse(&request(), &mut typed.as_bytes(), &mut Vec::new()).unwrap()
}

/// Returns the answer to a question about a command, and what was shown.
fn answer_to(request: &Request, typed: &str) -> (Answer, String) {
    let mut shown = Vec::new();
    let answer = PAGE.converse(request, &mut typed.as_bytes(), &mut shown).unwrap();
    (answer, String::from_utf8(shown).unwrap())
}

#[test]
fn answers_are_read() {
    let cases = [
        ("y\n", Answer::yes()),
        ("YES\n", Answer::yes()),
        ("s\n", Answer::yes_for_session()),
        ("n\n\n", Answer::no()),
        ("n\nuse /draft instead\n", Answer::no_because("use /draft instead")),
        ("", Answer::no()),
        ("what\ny\n", Answer::yes()),
        ("a\nb\nc\ny\n", Answer::no()),
    ];
    for (typed, want) in cases {
        assert_eq!(answer(typed), want, "{typed:?}");
    }
    assert_eq!(answer("s\n").remember, Remember::Session);
}

#[test]
fn the_question_shows_everything_and_nothing_disguised() {
    let mut long = request();
    long.diff = Some(format!("-old\n{}", "+more\n".repeat(MAX_DIFF_LINES)));
    let shown = PAGE.render(&long, Amount::Beginning);
    for part in [
        "write '/output/a\\u{202e}.md'",
        "zonekeep.yaml:4",
        "append: false",
        "| -old",
        "1 more lines: v shows them",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let whole = PAGE.render(&request(), Amount::All);
    assert!(whole.contains("+new\\u{1b}[2J"), "{whole}");
    assert!(!whole.contains('\x1b') && !whole.contains('\u{202e}'));
}

#[test]
fn a_long_question_ends_with_what_is_asked() {
    let head = "The agent wants to write '/output/a\\u{202e}.md'";
    let mut long = Request { worker: None, ..request() };
    let shown = PAGE.render(&long, Amount::Beginning);
    assert_eq!(shown.matches(head).count(), 1, "{shown}");
    long.diff = Some("+  y  yes\n".repeat(MAX_DIFF_LINES));
    long.partial = true;
    long.details.push(("executable".into(), "true".into()));
    for amount in [Amount::Beginning, Amount::All] {
        let shown = PAGE.render(&long, amount);
        let last: Vec<&str> = shown.lines().rev().take(4).collect();
        let want = [head, "executable: true", "only part of what would change is shown"];
        assert_eq!(last[..3].iter().map(|line| line.trim()).collect::<Vec<_>>(), want);
        assert_eq!(last[3], "  n  no");
    }
    assert!(written(&long).0.trim_end().ends_with(head), "{}", written(&long).0);
    for (line, want) in [
        ("true\n".repeat(30), "run the command of 180 characters above, in '/repo'"),
        ("true".to_owned(), "run in '/repo': true"),
    ] {
        let mut asked = command(&line);
        let parts = &mut asked.command.as_mut().unwrap().parts;
        *parts = vec![parts[1].clone(); 10];
        let shown = PAGE.render(&asked, Amount::Beginning);
        assert!(shown.trim_end().ends_with(want), "{shown}");
    }
}

#[test]
fn a_long_line_cannot_run_on_into_a_line_of_ours() {
    let mut request = request();
    request.path = format!("/output/a{}  y  yes", " ".repeat(200));
    request.diff = Some(format!("+{}  y  yes", " ".repeat(300)));
    let shown = PAGE.render(&request, Amount::Beginning);
    let widest = |page: Page| {
        let shown = page.render(&request, Amount::Beginning);
        shown.lines().map(|line| line.chars().count()).max().unwrap_or_default()
    };
    assert!(widest(PAGE) <= FOLD + MARGIN, "{shown}");
    assert!(widest(Page::wide(80)) <= 80, "{shown}");
    assert!(shown.lines().filter(|line| line.contains("y  yes,")).count() == 1, "{shown}");
    assert!(shown.contains('↪'), "{shown}");
}

#[test]
fn tabs_cannot_carry_a_line_over_the_margin() {
    let mut request = request();
    let tabs = "\t".repeat(10);
    request.diff = Some(format!("+#{tabs}.zonekeep: nothing changes\n+\tx = 1\t# one\n"));
    for columns in [0, 40, 80] {
        let page = Page::wide(columns);
        let shown = page.render(&request, Amount::Beginning);
        assert!(!shown.contains('\t'), "{shown}");
        let mut diff = shown.lines().filter(|line| line.starts_with("  | "));
        assert!(diff.all(|line| line.chars().count() <= page.fold + MARGIN), "{shown}");
        assert!(shown.contains("  | +       x = 1   # one\n"), "{shown}");
    }
}

#[test]
fn in_a_list_one_question_cannot_look_like_two() {
    let fill = |text: &str| format!("{text}{}", " ".repeat(78 - text.len()));
    let disguised = ["/out/a.md", "  project: /home/me", "aaaaaaaaaaaaaaaa-9  write /out/b"];
    let path = disguised.map(fill).concat();
    let file = Request { path: format!("{path}\tx"), id: "0a-1".into(), ..request() };
    let line = Request { id: "0a-2".into(), ..command(&format!("{path}\naaaa-9  run")) };
    for (request, columns) in [(&file, 80), (&file, 40), (&line, 80), (&line, 0)] {
        let list = listed(request, "/projects/app", columns);
        let (id, rest) = list.split_once('\n').unwrap();
        assert_eq!(id, request.id);
        assert!(rest.lines().all(|line| line.starts_with("  ")), "{list}");
        let widest = rest.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= Page::wide(columns).fold + MARGIN, "{list}");
        let last = rest.lines().filter(|line| line.starts_with("  project: "));
        assert_eq!(last.collect::<Vec<_>>(), ["  project: '/projects/app'"], "{list}");
    }
    let list = listed(&file, "/projects/app", 0);
    assert!(list.starts_with("0a-1\n  The agent wants to write '/out/a.md   "), "{list}");
    assert!(list.contains("\n  asked because: zones.output.approval.write: ask "), "{list}");
}

#[test]
fn a_command_is_shown_with_all_that_matters() {
    let shown = PAGE.render(&command("git status && git push; rm x"), Amount::Beginning);
    let want = "
  The agent wants to run
  | git status && git push; rm x
  in '/repo'
  in the background, where it goes on by itself
  needs consent: 'git push': it sends; zonekeep.yaml:9 git push *: ask
  needs consent: 'rm x': no rule says anything about it
  network: example.org
  y  yes, this once
  s  yes, and do not ask about this exact command again in this session
  p  yes, and do not ask in this session about commands that begin with: git push
  n  no
";
    assert_eq!(shown, want);
    let mut plain = command("ls");
    let asked = plain.command.as_mut().unwrap();
    (asked.network, asked.pattern, asked.background) = (None, None, false);
    let shown = PAGE.render(&plain, Amount::Beginning);
    assert!(shown.contains("network: none\n"), "{shown}");
    assert!(!shown.contains("  p  ") && !shown.contains("background"), "{shown}");
}

#[test]
fn a_command_of_one_part_has_one_line_of_reason() {
    let mut request = command("rm x");
    request.command.as_mut().unwrap().parts.drain(..2);
    let shown = PAGE.render(&request, Amount::Beginning);
    let reasons = ["asked because", "needs consent", "tool:"];
    let lines: Vec<&str> =
        shown.lines().filter(|line| reasons.iter().any(|part| line.contains(part))).collect();
    assert_eq!(lines, ["  asked because: no rule says anything about it"]);
}

#[test]
fn a_diff_is_coloured_where_that_is_wanted_and_says_the_same() {
    let mut request = request();
    request.diff = Some(format!("@@ -1 +1 @@\n-old\n+\x1b[31mnew{}\n same\n", "x".repeat(200)));
    let plain = PAGE.render(&request, Amount::Beginning);
    let shown = Page { colour: true, ..PAGE }.render(&request, Amount::Beginning);
    assert!(!plain.contains('\x1b'), "{plain}");
    for line in ["\x1b[36m  | @@ -1 +1 @@\x1b[0m", "\x1b[31m  | -old\x1b[0m", "  |  same"] {
        assert!(shown.lines().any(|shown| shown == line), "{line} in {shown}");
    }
    // What it shows has no colours of its own, and ends with ours on every line.
    let ours = ["\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"];
    let without = ours.iter().fold(shown.clone(), |text, code| text.replace(code, ""));
    assert_eq!(without, plain);
    assert!(shown.lines().all(|line| line.starts_with('\x1b') == line.ends_with("\x1b[0m")));
}

#[test]
fn a_question_fits_on_the_screen_and_the_rest_is_shown_on_request() {
    let mut request = request();
    request.diff = Some("+more\n".repeat(100));
    let shown = Page { lines: 12, ..PAGE }.render(&request, Amount::Beginning);
    assert!(shown.lines().count() <= 24, "{shown}");
    assert!(shown.contains("88 more lines: v shows them"), "{shown}");
}

#[test]
fn a_yes_for_the_session_is_not_offered_where_that_ends() {
    for request in [request(), command("git push")] {
        let last = Request { last_call: true, ..request.clone() };
        let offers = |request: &Request| PAGE.render(request, Amount::Beginning);
        assert!(offers(&request).contains("  s  yes"), "{}", offers(&request));
        assert!(!offers(&last).contains("  s  ") && !offers(&last).contains("  p  "));
        let (answer, shown) = answer_to(&last, "s\np\ny\n");
        assert_eq!(answer, Answer::yes());
        assert_eq!(shown.matches("please answer y or n\n").count(), 2, "{shown}");
    }
}

#[test]
fn a_pattern_is_shown_before_it_is_accepted() {
    let request = command("git push");
    let cases = [
        ("y\n", Answer::yes()),
        ("s\n", Answer::yes_for_session()),
        ("p\ny\n", Answer::yes_for_pattern("git push")),
        ("p\nn\ny\n", Answer::yes()),
        ("p\n\nn\n\n", Answer::no()),
        ("p\n", Answer::no()),
        ("p\nn\np\nn\np\nn\ny\n", Answer::no()),
        ("n\nask me later\n", Answer::no_because("ask me later")),
    ];
    for (typed, want) in cases {
        let (answer, shown) = answer_to(&request, typed);
        assert_eq!(answer, want, "{typed:?}");
        let asked = shown.contains("commands that begin with: git push\n  run without");
        assert_eq!(asked, typed.starts_with('p'), "{shown}");
    }
    let mut without = request;
    without.command.as_mut().unwrap().pattern = None;
    let (next, shown) = answer_to(&without, "p\ny\n");
    assert_eq!(next, Answer::yes(), "the y is the next answer");
    assert!(shown.contains("please answer y, s or n"), "{shown}");
    // Neither is one offered for a file.
    assert_eq!(answer("p\nn\n\n"), Answer::no());
}

#[test]
fn a_command_cannot_disguise_itself() {
    let line = format!(
        "echo a\u{202e}b\u{200b}\tc\r\x1b[2J\n  y  yes, this once\n{} rm -rf /repo",
        " ".repeat(300)
    );
    let mut request = command(&line);
    let asked = request.command.as_mut().unwrap();
    asked.pattern = Some("git\npush\u{202e}".into());
    asked.parts[1].text = format!("x\n  y  yes{}", "y".repeat(500));
    asked.cwd = "/re\npo".into();
    for columns in [0, 40, 80, 1] {
        let page = Page::wide(columns);
        let shown = page.render(&request, Amount::Beginning);
        assert!(!shown.contains(['\x1b', '\r', '\t', '\u{202e}', '\u{200b}']), "{shown}");
        for part in ["\\u{202e}", "\\t", "\\u{d}", "rm -rf /repo"] {
            assert!(shown.replace("\n  | ↪ ", "").contains(part), "{part} in {shown}");
        }
        let ours = shown.lines().filter(|line| line.starts_with("  y  ")).count();
        assert_eq!(ours, 1, "{shown}");
        let widest = shown
            .lines()
            .filter(|line| !line.starts_with("  s  ") && !line.starts_with("  in the back"))
            .map(|line| line.chars().count());
        assert!(widest.max() <= Some(page.fold + MARGIN), "{columns}: {shown}");
    }
    let wide = Page { fold: 20, ..PAGE };
    let mut text = String::new();
    wide.fold(&mut text, "", &"漢".repeat(25));
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn of_a_very_long_command_the_rest_is_shown_on_request() {
    let mut request = command(&"Q".repeat(100_000));
    let asked = request.command.as_mut().unwrap();
    asked.parts = vec![asked.parts[1].clone(); 50];
    let shown = PAGE.render(&request, Amount::Beginning);
    assert!(shown.contains("800 more lines: v shows them"), "{shown}");
    assert!(shown.contains("30 more parts that need consent: v shows them"), "{shown}");
    let (_, all) = answer_to(&request, "v\ny\n");
    assert_eq!(all.matches('Q').count(), 100_000);
    assert_eq!(all.matches("needs consent").count(), 50);
}
