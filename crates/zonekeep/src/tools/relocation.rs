//! What `move_file` and `copy_file` have in common.

use serde::Deserialize;
use serde_json::{Value, json};
use zonekeep_files::Overwrite;

use super::{Output, schema};
use crate::sandbox::Sandbox;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[serde(alias = "from", alias = "path", alias = "file_path")]
    pub(super) source: String,
    #[serde(alias = "to")]
    pub(super) destination: String,
    overwrite: Option<bool>,
}

impl Arguments {
    pub(super) fn overwrite(&self) -> Overwrite {
        if self.overwrite.unwrap_or(false) { Overwrite::Yes } else { Overwrite::No }
    }
}

pub(super) fn schema() -> Value {
    schema::object(
        &[
            ("source", schema::text("Path of what is there")),
            ("destination", schema::text("Its new path, file name included")),
            ("overwrite", schema::flag("Replace a file that is already there")),
        ],
        &["source", "destination"],
    )
}

pub(super) fn output_schema() -> Value {
    schema::result(&[
        ("source", schema::text("The absolute path of what was there")),
        ("destination", schema::text("The absolute path where it is now")),
    ])
}

pub(super) fn output(sandbox: &Sandbox, past: &str, args: &Arguments) -> Output {
    let (from, to) = (sandbox.shown_path(&args.source), sandbox.shown_path(&args.destination));
    let text = format!("{past} {from} to {to}.");
    Output::new(text, json!({ "source": from, "destination": to }))
}
