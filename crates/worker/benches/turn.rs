//! What a turn costs without the model: one file tool call, the record, the
//! transcript. Prints a line for each figure; with `ZONEKEEP_BENCH_QUICK` it only
//! has to run.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use zonekeep::approve::Nobody;
use zonekeep::policy::config::Overrides;
use zonekeep::{Project, Session, StateDir, Stop};
use zonekeep_worker::model::{Call, Delta, Message, Model, ModelError, Reply, Request};
use zonekeep_worker::{Ended, Registry, Runner, Settings};

/// Reads a file in every turn, and answers in the last.
struct Reader {
    turns: usize,
}

impl Model for Reader {
    fn name(&self) -> &str {
        "bench:model"
    }

    fn respond(
        &self,
        request: &Request<'_>,
        _: &mut dyn FnMut(Delta<'_>),
        _: &Stop,
    ) -> Result<Reply, ModelError> {
        let spoken = request.messages.iter().filter(|m| matches!(m, Message::Model { .. })).count();
        if spoken >= self.turns {
            return Ok(Reply { text: "done".to_owned(), ..Reply::default() });
        }
        let call = Call {
            id: spoken.to_string(),
            name: "read_file".to_owned(),
            arguments: json!({ "path": "/in/a.txt" }),
            malformed: None,
        };
        Ok(Reply { calls: vec![call], ..Reply::default() })
    }
}

fn main() {
    let quick = std::env::var_os("ZONEKEEP_BENCH_QUICK").is_some();
    let (turns, rounds) = if quick { (20, 2) } else { (200, 15) };
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("project");
    fs::create_dir_all(dir.join("in")).unwrap();
    let config = "sandbox: { mode: direct, zones: { in: { path: ./in, mode: ro } } }\n";
    fs::write(dir.join("zonekeep.yaml"), config).unwrap();
    fs::write(dir.join("in/a.txt"), "line of text\n".repeat(300)).unwrap();
    let worker = "---\nname: main\nmax_turns: 1000\nsandbox: { zones: [{ name: in, mode: ro }] }\n---\nRead.\n";
    fs::write(dir.join("main.worker"), worker).unwrap();
    let project = Project::at(&dir, &Overrides::default()).unwrap();
    let state = StateDir::at(temp.path().join("state"));

    let (mut runs, mut reads) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let session = Session::open(&project, &state, Nobody).unwrap();
        let sandbox = session.sandbox();
        sandbox.read_text("/in/a.txt").unwrap();
        let begun = Instant::now();
        for _ in 0..turns {
            sandbox.read_text("/in/a.txt").unwrap();
        }
        reads.push(begun.elapsed().as_secs_f64() * 1e3 / turns as f64);
        let model: Arc<dyn Model> = Arc::new(Reader { turns });
        let open = move |_: &str| Ok(Arc::clone(&model));
        let settings =
            Settings { usual_model: Some("bench:model".to_owned()), ..Settings::default() };
        let registry = Registry::find(&project).unwrap();
        let runner = Runner::new(session, registry, &state, open, settings);
        let begun = Instant::now();
        assert_eq!(runner.work("main", "x", &[]).unwrap().ended, Ended::Answer);
        runs.push(begun.elapsed().as_secs_f64() * 1e3 / turns as f64);
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (run, read) = (median(&mut runs), median(&mut reads));
    println!("turn: {run:.3} ms with one read of 4 KiB (must be <= 2 ms)");
    println!("turn_read: {:.1} x the read alone", run / read);
}
