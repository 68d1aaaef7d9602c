//! Approvers that are programs and sockets: what they answer, what they are
//! kept from, and that anything odd is a no.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::common::{files, open};
use serde_json::{Value, json};
use zonekeep::approve::socket::{Client, How, Notice};
use zonekeep::approve::{Answer, Approver, Program, Request, Socket, Unfit};
use zonekeep::policy::config::Overrides;
use zonekeep::{Error, OpenError, Project, Sandbox, Session, StateDir};
use zonekeep_testkit::{Project as Files, as_nobody, eventually, program, skip};

/// Longer than anything takes that is to happen.
const LONG: Duration = Duration::from_secs(60);
/// Shorter than anybody would wait.
const SHORT: Duration = Duration::from_millis(300);

fn try_open(files: &Files, approver: impl Approver + 'static) -> Result<Session, OpenError> {
    let project = Project::at(&files.path(""), &Overrides::default()).unwrap();
    Session::open(&project, &StateDir::at(files.state().join("zonekeep")), approver)
}

fn unfit(files: &Files, approver: impl Approver + 'static) -> Unfit {
    match try_open(files, approver).unwrap_err() {
        OpenError::Approver(unfit) => unfit,
        other => panic!("{other}"),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

// ---- programs

/// Writes a shell script beside the project.
fn script(files: &Files, text: &str) -> PathBuf {
    let path = files.beside("approver");
    put_program(&path, &format!("#!/bin/sh\n{text}\n"));
    path
}

/// Writes a program in a process of its own: a file that is open for writing,
/// be it in a child that another test has just forked, cannot be run.
fn put_program(path: &Path, text: &str) {
    let mut tee = Command::new("tee");
    let mut tee = tee.arg(path).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    tee.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(tee.wait().unwrap().success());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn asking(files: &Files, text: &str, limit: Duration) -> Session {
    open(files, Program::new(script(files, text)).unwrap().within(limit))
}

/// Returns what the agent reads when it writes, and that nothing was written.
fn refusal(files: &Files, sandbox: &Sandbox) -> String {
    let error = sandbox.write("/asked/c.txt", "changed\n").unwrap_err();
    assert_eq!(files.read("asked/c.txt"), "c\n");
    assert_eq!(error.code(), "declined");
    error.to_string()
}

#[test]
fn a_program_says_yes_no_and_for_how_long() {
    let files = files();
    let count = files.beside("count");
    let answering = |json: &str| {
        let text = format!("cat > /dev/null\necho x >> {}\necho '{json}'", count.display());
        asking(&files, &text, LONG)
    };
    let asked = || {
        let text = fs::read_to_string(&count).unwrap_or_default();
        let _ = fs::remove_file(&count);
        text.lines().count()
    };
    // Written twice, each time.
    let cases = [
        (r#"{"approved": true}"#, 2),
        (r#"{"approved": true, "note": "go on", "remember": "once", "version": 1}"#, 2),
        (r#"{"approved": true, "remember": "session"}"#, 1),
        // Only what is offered counts, and for a file no pattern is.
        (r#"{"approved": true, "remember": {"pattern": "write"}}"#, 2),
    ];
    for (json, want) in cases {
        let session = answering(json);
        for text in ["1", "2"] {
            session.sandbox().write("/asked/new.txt", text).unwrap();
        }
        assert_eq!(asked(), want, "{json}");
        let held = session.remembered();
        assert_eq!(held.len(), usize::from(want == 1), "{json}");
        assert!(held.iter().all(|held| held.by == "program"));
    }
    let session = answering(r#"{"approved": false, "note": "use /output"}"#);
    assert_eq!(
        refusal(&files, &session.sandbox()),
        "Cannot write to '/asked/c.txt': the user declined.\nTheir note: use /output"
    );
    let session = answering(r#"{"approved": false, "remember": "session"}"#);
    refusal(&files, &session.sandbox());
    refusal(&files, &session.sandbox());
    assert_eq!(asked(), 3, "a no is not remembered");
    let log = files.log_lines().join("\n");
    assert!(log.contains(r#""answer":{"approved":true,"by":"program","remember":"session"}"#));
    assert!(!log.contains("pattern"), "{log}");
}

#[test]
fn a_program_gets_the_question_and_nothing_else() {
    let files = files();
    let seen = files.beside("seen");
    let dir = seen.display();
    let text = format!(
        "cat > {dir}.json; pwd > {dir}.pwd; echo $# > {dir}.args
         echo \"$ZONEKEEP_PROJECT\" > {dir}.project; echo \"$ZONEKEEP_SESSION\" > {dir}.session
         echo '{{\"approved\": true}}'"
    );
    let session = asking(&files, &text, LONG);
    session.sandbox().write("/output/../asked/c.txt", "changed\n").unwrap();
    let read = |ending: &str| fs::read_to_string(format!("{dir}.{ending}")).unwrap();
    let request: Request = serde_json::from_str(&read("json")).unwrap();
    assert_eq!(request.summary(), "write /asked/c.txt");
    assert_eq!(request.diff.as_deref(), Some("@@ -1 +1 @@\n-c\n+changed\n"));
    assert!(request.id.starts_with(session.id()), "{}", request.id);
    let value: Value = serde_json::from_str(&read("json")).unwrap();
    assert_eq!((&value["version"], &value["tool"]), (&json!(1), &json!("write_file")));
    assert_eq!((read("pwd").trim(), read("args").trim()), ("/", "0"));
    assert_eq!(read("project").trim(), files.path("").display().to_string().trim_end_matches('/'));
    assert_eq!(read("session").trim(), session.id());
    assert!(files.log_lines().join("").contains(&request.id), "it is the record's");
}

#[test]
fn whatever_goes_wrong_with_a_program_is_a_no() {
    let files = files();
    // what it does, what follows "approval, and"
    let cases = [
        ("exit 3", "the approver failed (exit status: 3)."),
        ("echo '{\"approved\": true}'; exit 1", "the approver failed (exit status: 1)."),
        ("kill -9 $$", "the approver failed (signal: 9 (SIGKILL))."),
        ("", "the approver's answer was not understood (EOF while parsing"),
        ("echo yes", "the approver's answer was not understood (expected value"),
        ("echo true", "the approver's answer was not understood (invalid type"),
        ("echo '{}'", "the approver's answer was not understood (missing field `approved`"),
        (
            "echo '{\"approved\": true, \"aproved\": 1}'",
            "the approver's answer was not understood (unknown field `aproved`",
        ),
        (
            "echo '{\"approved\": true, \"unasked\": null}'",
            "the approver's answer was not understood (unknown field `unasked`",
        ),
        (
            "echo '{\"approved\": true}{\"approved\": true}'",
            "the approver's answer was not understood (trailing characters",
        ),
        (
            "echo '{\"approved\": true, \"version\": 2}'",
            "the approver's answer was not understood (version 2 is not known",
        ),
        (
            "echo '{\"approved\": true}'; yes ''",
            "the approver's answer was longer than 65536 bytes.",
        ),
        (
            "printf '{\"approved\": true, \"\\033[2Jx\": 1}'",
            "the approver's answer was not understood (",
        ),
    ];
    for (text, want) in cases {
        let session = asking(&files, text, LONG);
        let got = refusal(&files, &session.sandbox());
        let want =
            format!("Cannot write to '/asked/c.txt': it needs the user's approval, and {want}");
        assert!(got.starts_with(&want), "{text}: {got}");
        assert!(!got.contains('\x1b') && got.lines().count() == 2, "{got}");
        assert!(!got.contains("approver\n") && !got.contains("/tmp"), "{got}");
    }
}

#[test]
fn a_program_that_cannot_be_started_is_a_no() {
    let files = files();
    let path = script(&files, "echo '{\"approved\": true}'");
    let session = open(&files, Program::new(&path).unwrap());
    fs::remove_file(&path).unwrap();
    let got = refusal(&files, &session.sandbox());
    assert!(got.contains("and the approver could not be started."), "{got}");
    put_program(&path, "#!/nowhere/at/all\n");
    let got = refusal(&files, &session.sandbox());
    assert!(got.contains("and the approver could not be started."), "{got}");
}

#[test]
fn a_program_that_takes_too_long_is_killed_with_all_it_started() {
    let files = files();
    let pids = files.beside("pids");
    let text = format!(
        "sleep 300 & echo $! > {0}; echo $$ >> {0}; echo '{{\"approved\": true}}'; wait",
        pids.display()
    );
    let session = asking(&files, &text, Duration::from_secs(1));
    let start = Instant::now();
    let got = refusal(&files, &session.sandbox());
    assert!(got.contains("and the approver did not answer within 1 second."), "{got}");
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    // Where nobody waits for orphans, they stay as zombies.
    let is_gone = |pid: &str| {
        let number = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        rustix::process::test_kill_process(number).is_err() || stat.contains(") Z ")
    };
    let pids = fs::read_to_string(&pids).unwrap();
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        eventually("its end", || is_gone(pid).then_some(()));
    }
}

#[test]
fn a_program_need_not_read_and_what_it_leaves_is_not_waited_for() {
    let files = files();
    // Much more than a pipe holds.
    files.put("asked/c.txt", "line\n".repeat(20_000));
    let session = asking(&files, "echo '{\"approved\": true}'", LONG);
    session.sandbox().write("/asked/c.txt", "c\n").unwrap();
    let left = files.beside("left");
    let text = format!("sleep 300 & echo $! > {}\necho '{{\"approved\": true}}'", left.display());
    let session = asking(&files, &text, LONG);
    let start = Instant::now();
    session.sandbox().write("/asked/c.txt", "d\n").unwrap();
    assert!(start.elapsed() < LONG / 2);
    let pid = fs::read_to_string(&left).unwrap();
    assert!(Command::new("kill").arg(pid.trim()).status().unwrap().success(), "it goes on");
}

#[test]
fn a_program_that_others_or_agents_could_change_is_refused() {
    let files = files();
    let yes = "echo '{\"approved\": true}'";
    let path = script(&files, yes);
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let refused = |path: &Path| Program::new(path).unwrap_err().to_string();
    assert!(refused(&files.beside("nothing")).ends_with("nothing does not exist"));
    assert!(refused(&files.beside("home")).ends_with("home is not a file"));
    set(&path, 0o644);
    assert!(refused(&path).ends_with("approver is not executable"));
    for mode in [0o757, 0o775, 0o777] {
        set(&path, mode);
        assert!(refused(&path).ends_with("approver can be changed by other users"), "{mode:o}");
    }
    set(&path, 0o755);
    fs::hard_link(&path, files.path("out/another-name")).unwrap();
    assert!(refused(&path).ends_with("approver has another name (a hard link)"));
    fs::remove_file(files.path("out/another-name")).unwrap();
    assert!(Program::new(&path).is_ok(), "the control");
    let dir = files.beside("tools");
    fs::create_dir_all(dir.join("mine")).unwrap();
    put_program(&dir.join("mine/approver"), &format!("#!/bin/sh\n{yes}\n"));
    for (mode, fits) in [(0o777, false), (0o775, false), (0o1777, true), (0o755, true)] {
        set(&dir, mode);
        assert_eq!(Program::new(dir.join("mine/approver")).is_ok(), fits, "{mode:o}");
    }

    for dir in ["in", "out"] {
        put_program(&files.path(dir).join("approver"), &format!("#!/bin/sh\n{yes}\n"));
    }
    symlink(&path, files.path("out/link")).unwrap();
    symlink(files.path("out/link"), files.beside("chain")).unwrap();
    symlink(files.path("out"), files.beside("dir")).unwrap();
    let in_zone = [
        files.path("out/approver"),
        files.path("out/link"),
        files.path("in/../out/approver"),
        files.beside("chain"),
        files.beside("dir/approver"),
    ];
    for path in in_zone {
        let unfit = unfit(&files, Program::new(&path).unwrap());
        let want = "lies in the zone 'output', which agents can write";
        assert!(unfit.to_string().ends_with(want), "{}: {unfit}", path.display());
    }
    // What agents can only read, they cannot change.
    for path in [path, files.path("in/approver")] {
        let session = try_open(&files, Program::new(path).unwrap()).unwrap();
        session.sandbox().write("/asked/c.txt", "c\n").unwrap();
    }
}

#[test]
fn a_program_that_others_could_change_by_now_is_not_started() {
    let files = files();
    let dir = files.beside("tools");
    fs::create_dir(&dir).unwrap();
    let path = dir.join("approver");
    put_program(&path, "#!/bin/sh\necho '{\"approved\": true}'\n");
    let session = open(&files, Program::new(&path).unwrap());
    for (opened, mode, usual) in
        [(&path, 0o757, 0o755), (&path, 0o775, 0o755), (&dir, 0o777, 0o755), (&dir, 0o775, 0o755)]
    {
        fs::set_permissions(opened, fs::Permissions::from_mode(mode)).unwrap();
        let got = refusal(&files, &session.sandbox());
        assert!(got.contains("and the approver can be changed by other users."), "{got}");
        fs::set_permissions(opened, fs::Permissions::from_mode(usual)).unwrap();
        session.sandbox().write("/asked/c.txt", "c\n").unwrap();
    }
}

// ---- sockets

struct Scene {
    files: Files,
    session: Session,
    path: PathBuf,
}

impl Scene {
    fn new(limit: Duration) -> Self {
        let files = files();
        let socket = Arc::new(Socket::at(files.beside("run/a.sock")).within(limit));
        assert_eq!(socket.path(), None);
        let session = open(&files, Arc::clone(&socket));
        let path = socket.path().unwrap().to_owned();
        Scene { files, session, path }
    }

    /// Writes, in a thread of its own.
    fn write(&self, path: &str, text: &str) -> JoinHandle<Result<(), Error>> {
        let (sandbox, path, text) = (self.session.sandbox(), path.to_owned(), text.to_owned());
        thread::spawn(move || sandbox.write(&path, &text).map(|_| ()))
    }

    fn attach(&self) -> Client {
        Client::attach(&self.path).unwrap()
    }

    /// Connects without saying anything.
    fn connect(&self) -> Raw {
        let stream = UnixStream::connect(&self.path).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Raw(BufReader::new(stream))
    }

    fn key(&self) -> String {
        fs::read_to_string(self.path.with_extension("key")).unwrap()
    }

    fn hello(&self) -> String {
        json!({ "type": "hello", "key": self.key() }).to_string()
    }
}

/// A connection on which anything can be said.
struct Raw(BufReader<UnixStream>);

impl Raw {
    fn say(&mut self, line: &str) {
        // Whoever is not wanted is not listened to.
        let _ = self.0.get_mut().write_all(format!("{line}\n").as_bytes());
    }

    /// Returns the next line; nothing when the connection has ended.
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) | Err(_) => Value::Null,
            Ok(_) => serde_json::from_str(&line).unwrap(),
        }
    }
}

fn question(client: &mut Client) -> Request {
    match client.next().unwrap() {
        Some(Notice::Request(request)) => *request,
        other => panic!("{other:?}"),
    }
}

fn settled(client: &mut Client) -> (String, How) {
    match client.next().unwrap() {
        Some(Notice::Settled { id, how }) => (id, how),
        other => panic!("{other:?}"),
    }
}

fn accepted(client: &mut Client) {
    let notice = client.next().unwrap();
    assert!(matches!(notice, Some(Notice::Accepted { .. })), "{notice:?}");
}

#[test]
fn a_client_says_yes_no_and_for_how_long() {
    let scene = Scene::new(LONG);
    let mut client = scene.attach();
    assert_eq!((client.session.as_str(), client.pending), (scene.session.id(), 0));
    assert_eq!(Path::new(&client.project), scene.files.path("").components().as_path());

    let writing = scene.write("/asked/c.txt", "1\n");
    let request = question(&mut client);
    assert_eq!(request.summary(), "write /asked/c.txt");
    assert_eq!(request.diff.as_deref(), Some("@@ -1 +1 @@\n-c\n+1\n"));
    client.answer(&request.id, &Answer::yes()).unwrap();
    writing.join().unwrap().unwrap();
    accepted(&mut client);
    assert_eq!(settled(&mut client), (request.id.clone(), How::Answered));

    let writing = scene.write("/asked/c.txt", "2\n");
    let next = question(&mut client);
    assert_ne!(next.id, request.id);
    client.answer(&next.id, &Answer::no_because("use /output")).unwrap();
    let error = writing.join().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "Cannot write to '/asked/c.txt': the user declined.\nTheir note: use /output"
    );
    accepted(&mut client);
    settled(&mut client);

    // A pattern was not offered.
    let writing = scene.write("/asked/c.txt", "3\n");
    let id = question(&mut client).id;
    client.answer(&id, &Answer::yes_for_pattern("write")).unwrap();
    writing.join().unwrap().unwrap();
    assert!(scene.session.remembered().is_empty());
    accepted(&mut client);
    settled(&mut client);

    let writing = scene.write("/asked/c.txt", "4\n");
    let id = question(&mut client).id;
    client.answer(&id, &Answer::yes_for_session()).unwrap();
    writing.join().unwrap().unwrap();
    scene.write("/asked/c.txt", "5\n").join().unwrap().unwrap();
    assert_eq!(scene.session.remembered()[0].by, "socket");
    assert_eq!(scene.files.read("asked/c.txt"), "5\n");
}

#[test]
fn questions_wait_for_whoever_comes_and_comes_back() {
    let scene = Scene::new(LONG);
    let writing = [scene.write("/asked/a.txt", "a"), scene.write("/asked/b.txt", "b")];
    // Whoever leaves has not answered.
    for _ in 0..3 {
        let mut client =
            eventually("both", || Some(scene.attach()).filter(|client| client.pending == 2));
        question(&mut client);
    }
    let mut client = scene.attach();
    for _ in 0..2 {
        let request = question(&mut client);
        client.answer(&request.id, &Answer::yes()).unwrap();
    }
    for writing in writing {
        writing.join().unwrap().unwrap();
    }
    assert_eq!(scene.attach().pending, 0);
}

#[test]
fn a_question_that_nobody_answers_is_a_no() {
    let scene = Scene::new(SHORT);
    let got = refusal(&scene.files, &scene.session.sandbox());
    assert!(got.contains("approval, and nobody answered within 300 milliseconds."), "{got}");
    let mut client = scene.attach();
    let writing = scene.write("/asked/c.txt", "x");
    let id = question(&mut client).id;
    assert_eq!(settled(&mut client), (id.clone(), How::TimedOut));
    assert!(writing.join().unwrap().is_err());
    client.answer(&id, &Answer::yes()).unwrap();
    let notice = client.next().unwrap();
    assert!(matches!(notice, Some(Notice::Error { id: Some(_), .. })), "{notice:?}");
    assert_eq!(scene.files.read("asked/c.txt"), "c\n", "too late");
}

#[test]
fn of_several_clients_the_first_to_answer_counts() {
    let scene = Scene::new(LONG);
    let (mut one, mut two) = (scene.attach(), scene.attach());
    let writing = scene.write("/asked/c.txt", "x");
    let id = question(&mut one).id;
    assert_eq!(question(&mut two).id, id);
    two.answer(&id, &Answer::no_because("two")).unwrap();
    accepted(&mut two);
    assert_eq!(settled(&mut one), (id.clone(), How::Answered));
    one.answer(&id, &Answer::yes()).unwrap();
    let notice = one.next().unwrap();
    assert!(matches!(notice, Some(Notice::Error { .. })), "{notice:?}");
    assert!(writing.join().unwrap().unwrap_err().to_string().contains("Their note: two"));
    // Neither is worse off for it.
    let writing = scene.write("/asked/c.txt", "x");
    let id = question(&mut one).id;
    one.answer(&id, &Answer::yes()).unwrap();
    writing.join().unwrap().unwrap();
}

#[test]
fn without_the_key_nothing_is_told_and_nothing_counts() {
    let scene = Scene::new(LONG);
    let writing = scene.write("/asked/c.txt", "x");
    let id = eventually("the question", || {
        let mut client = scene.attach();
        (client.pending == 1).then(|| question(&mut client).id)
    });
    let yes = json!({ "type": "answer", "id": id, "approved": true }).to_string();
    let wrong = json!({ "type": "hello", "key": "0".repeat(64) }).to_string();
    let empty = json!({ "type": "hello", "key": "" }).to_string();
    for line in [yes.as_str(), &wrong, &empty, "{}", "\u{0}", "[[[[", "yes"] {
        let mut raw = scene.connect();
        raw.say(line);
        let heard = raw.hear();
        assert_eq!(heard["type"], "error", "{line}: {heard}");
        raw.say(&yes);
        assert_eq!(raw.hear(), Value::Null, "{line}: the connection has ended");
    }
    assert!(!writing.is_finished());
    assert_eq!(scene.attach().pending, 1);
    let mut raw = scene.connect();
    raw.say(&scene.hello());
    raw.say(&yes);
    writing.join().unwrap().unwrap();
}

#[test]
fn garbage_ends_a_connection_and_nothing_else() {
    let scene = Scene::new(LONG);
    let mut client = scene.attach();
    let writing = scene.write("/asked/c.txt", "x");
    let id = question(&mut client).id;
    let huge = format!("{{\"type\":\"answer\",\"note\":\"{}", "x".repeat(1 << 20));
    let lines = [
        "nonsense".to_owned(),
        "null".to_owned(),
        scene.hello(),
        json!({ "type": "answer", "id": id }).to_string(),
        json!({ "type": "answer", "id": id, "approved": "yes" }).to_string(),
        json!({ "type": "answer", "id": id, "approved": true, "forever": true }).to_string(),
        json!({ "type": "answer", "id": id, "approved": true, "version": 7 }).to_string(),
        json!({ "type": "answer", "id": id, "approved": true, "remember": "ever" }).to_string(),
        "[".repeat(60_000),
        huge,
    ];
    for line in lines {
        let mut raw = scene.connect();
        raw.say(&scene.hello());
        assert_eq!(raw.hear()["pending"], 1);
        assert_eq!(raw.hear()["id"], json!(id));
        raw.say(&line);
        assert_eq!(raw.hear()["type"], "error", "{line:.100}");
        assert_eq!(raw.hear(), Value::Null, "{line:.100}");
    }
    // An answer to a question that does not wait is no garbage.
    let mut raw = scene.connect();
    raw.say(&scene.hello());
    raw.hear();
    raw.hear();
    raw.say("");
    raw.say(&json!({ "type": "answer", "id": "other", "approved": true }).to_string());
    assert_eq!(raw.hear()["id"], "other");
    assert!(!writing.is_finished());
    client.answer(&id, &Answer::yes()).unwrap();
    writing.join().unwrap().unwrap();
}

#[test]
fn a_client_that_does_not_read_holds_nobody_up() {
    let scene = Scene::new(LONG);
    let mut deaf = scene.connect();
    deaf.say(&scene.hello());
    assert_eq!(deaf.hear()["type"], "session");
    let mut client = scene.attach();
    let start = Instant::now();
    for round in 0..20 {
        let text = format!("{round}\n").repeat(20_000);
        let writing = scene.write("/asked/new.txt", &text);
        let id = loop {
            match client.next().unwrap() {
                Some(Notice::Request(request)) => break request.id,
                Some(_) => {}
                None => panic!("the session has ended"),
            }
        };
        client.answer(&id, &Answer::yes()).unwrap();
        writing.join().unwrap().unwrap();
    }
    assert!(start.elapsed() < LONG);
    // In the end it is let go: what has arrived can be read, and then it ends.
    thread::sleep(Duration::from_secs(6));
    deaf.0.get_ref().set_read_timeout(Some(SHORT)).unwrap();
    let mut all = Vec::new();
    deaf.0.read_to_end(&mut all).unwrap();
    assert!(all.len() < 20 * 100_000, "{}", all.len());
}

#[test]
fn only_so_many_may_attach_and_only_so_many_questions_wait() {
    let scene = Scene::new(LONG);
    let mut guests: Vec<Client> = (0..16).map(|_| scene.attach()).collect();
    let error = Client::attach(&scene.path).unwrap_err();
    assert_eq!(error.to_string(), "too many are attached");
    guests.truncate(8);
    eventually("room", || Client::attach(&scene.path).ok());

    let writing: Vec<_> = (0..64).map(|n| scene.write(&format!("/asked/{n}.txt"), "x")).collect();
    eventually("all questions", || (scene.attach().pending == 64).then_some(()));
    let got = refusal(&scene.files, &scene.session.sandbox());
    assert!(got.contains("approval, and too many questions wait already."), "{got}");
    let mut client = scene.attach();
    for _ in 0..64 {
        let request = question(&mut client);
        client.answer(&request.id, &Answer::yes()).unwrap();
    }
    for writing in writing {
        writing.join().unwrap().unwrap();
    }
}

#[test]
fn only_the_user_can_enter_and_nothing_stays() {
    let scene = Scene::new(LONG);
    let dir = scene.path.parent().unwrap().to_owned();
    let key = scene.path.with_extension("key");
    assert_eq!((mode(&dir), mode(&scene.path), mode(&key)), (0o700, 0o600, 0o600));
    assert_eq!(scene.key().len(), 64);
    let mut client = scene.attach();
    let Scene { files: _files, session, path } = scene;
    let sandbox = session.sandbox();
    drop(session);
    assert!(path.exists(), "a sandbox of it is left");
    drop(sandbox);
    assert!(client.next().unwrap().is_none(), "it says goodbye");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn another_user_cannot_attach_even_where_the_files_let_them() {
    let (Some(mut other), Some(python)) = (as_nobody(), program("python3")) else {
        return skip("needs root and python3");
    };
    let scene = Scene::new(LONG);
    let attempt = "import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode() + b'\\n')
print(s.recv(10))";
    let hello = scene.hello();
    let args = [attempt.as_ref(), scene.path.as_os_str(), hello.as_ref()];
    let run = |command: &mut Command| {
        let output = command.arg(&python).arg("-c").args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(&mut Command::new("env")), "b'{\"type\":\"s'\n", "the control");
    assert_eq!(run(&mut other), "", "the directory is closed");
    // And if it were not:
    let mut above = Some(scene.path.parent().unwrap());
    while let Some(dir) = above.filter(|dir| dir.starts_with(scene.files.beside(""))) {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
        above = dir.parent();
    }
    fs::set_permissions(&scene.path, fs::Permissions::from_mode(0o666)).unwrap();
    let got = run(&mut as_nobody().unwrap());
    assert!(got == "b''\n" || got.is_empty(), "{got}");
    assert_eq!(run(&mut Command::new("env")), "b'{\"type\":\"s'\n", "still the control");
}

#[test]
fn a_socket_is_refused_where_it_would_not_be_safe() {
    let files = files();
    let at = |path: PathBuf| unfit(&files, Socket::at(path)).to_string();
    for (dir, zone) in [("in", "input"), ("out", "output"), ("in/sub", "input")] {
        let want = format!("would lie in the zone '{zone}', which agents can reach");
        let got = at(files.path(dir).join("a.sock"));
        assert!(got.ends_with(&want), "{got}");
        assert!(!files.exists(&format!("{dir}/a.sock")), "and is not made");
    }
    symlink(files.path("out"), files.beside("linked")).unwrap();
    assert!(at(files.beside("linked/a.sock")).contains("the zone 'output'"));
    fs::set_permissions(files.beside("home"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(at(files.beside("home/a.sock")).ends_with("nobody else may enter it"));
    let long = at(files.beside("run").join("a".repeat(120)));
    assert!(long.contains("is too long for a socket: at most"), "{long}");

    let path = files.beside("run/a.sock");
    fs::write(&path, "a file").unwrap();
    assert!(at(path.clone()).starts_with("there is something else at"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "a file");
    fs::remove_file(&path).unwrap();
    // Nobody listens on a socket that was left behind.
    drop(UnixListener::bind(&path).unwrap());
    let session = try_open(&files, Socket::at(&path)).unwrap();
    assert!(at(path.clone()).starts_with("there is a session's socket at"));
    assert_eq!(Client::attach(&path).unwrap().session, session.id());
}

#[test]
fn a_socket_serves_one_session() {
    let files = files();
    let socket = Arc::new(Socket::at(files.beside("run/a.sock")));
    let asked = Request { id: "1".into(), ..Request::default() };
    assert!(socket.ask(&asked).unasked.is_some(), "before its session there is nobody");
    let _first = try_open(&files, Arc::clone(&socket)).unwrap();
    assert!(matches!(unfit(&files, Arc::clone(&socket)), Unfit::Busy));
}
