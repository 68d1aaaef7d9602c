//! Resources: the files of the view by `zonekeep:///path`, and the records of
//! this server's session.

use std::io::{Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, ListResourcesResult, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use zonekeep::audit;
use zonekeep::files::Fault;
use zonekeep::files::list::GlobOptions;
use zonekeep::policy::{Approval, Spot, Zone};
use zonekeep::{Error, Sandbox, Watch};

use super::call::{Came, Repeated, cancelled};
use super::rules::Rules;
use super::server::Server;

/// The records of this session.
pub(super) const AUDIT: &str = "zonekeep://audit/session";
const SCHEME: &str = "zonekeep://";
/// How many resources are on a page.
const PAGE: usize = 200;
/// How many resources are listed in all; the others are read by their names.
const MAX_LISTED: usize = 10_000;
/// The largest file that is read whole.
const MAX_BYTES: usize = 4 << 20;
/// How long a reader of the records waits for others.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most records that are returned, the newest.
const MAX_RECORDS: usize = 1_000;

/// What a URI stands for.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    File(String),
    Audit,
}

/// Reads a URI.
fn named(uri: &str) -> Option<Named> {
    if uri == AUDIT {
        return Some(Named::Audit);
    }
    let path = uri.strip_prefix(SCHEME).filter(|path| path.starts_with('/'))?;
    if path.contains(['?', '#']) {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |byte: &u8| (*byte as char).to_digit(16);
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                bytes.push((hex(high)? * 16 + hex(low)?) as u8);
                rest = tail;
            }
            (b'%', _) => return None,
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok().map(Named::File)
}

/// Writes the URI of a path.
fn uri(path: &str) -> String {
    let mut uri = SCHEME.to_owned();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte as char);
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// Returns the type of a file by the end of its name.
fn mime(path: &str) -> Option<&'static str> {
    let ending = path.rsplit('/').next()?.rsplit_once('.')?.1.to_ascii_lowercase();
    Some(match ending.as_str() {
        "md" => "text/markdown",
        "txt" | "log" => "text/plain",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "ts" | "tsx" => "text/x-typescript",
        "py" => "text/x-python",
        "rs" => "text/x-rust",
        "go" => "text/x-go",
        "c" | "h" => "text/x-c",
        "sh" => "text/x-shellscript",
        "xml" => "application/xml",
        "toml" => "application/toml",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

pub(super) fn template() -> ResourceTemplate {
    let mut template = ResourceTemplate::new("zonekeep:///{+path}", "file");
    template.title = Some("File".to_owned());
    template.description = Some("A file of the sandbox, by its path".to_owned());
    template
}

/// Returns whether a zone can be looked at without a question and without a taint.
/// Clients list and watch by themselves; that is no reason for either.
fn looks_freely(zone: &Zone) -> bool {
    zone.approval.read.value == Approval::PreApproved && zone.untrusted.is_none()
}

/// Lists a page of the files, and the records on the first one. What would have to
/// be asked about is left out.
pub(super) async fn list(
    server: &Server,
    cursor: Option<String>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let start = match cursor.map(|cursor| cursor.parse::<usize>()) {
        None => 0,
        Some(Ok(start)) if start <= MAX_LISTED => start,
        Some(_) => return Err(ErrorData::invalid_params("this cursor is none of ours", None)),
    };
    let work = move |sandbox: &Sandbox| {
        let mut found = Vec::new();
        let view = sandbox.grant().view();
        let mut zones: Vec<String> = view
            .mounts()
            .iter()
            .filter(|mount| looks_freely(&mount.zone))
            .map(|mount| mount.path().to_string())
            .collect();
        zones.sort_unstable();
        for zone in zones {
            let limit = (start + PAGE + 1).saturating_sub(found.len());
            if limit == 0 {
                break;
            }
            let options = GlobOptions { limit, ..GlobOptions::default() };
            match sandbox.find(&zone, "**/*", &options) {
                // A name that is no plain text has no spelling of its own.
                Ok(paths) => found.extend(
                    paths
                        .paths
                        .iter()
                        .filter(|path| !path.contains('\\'))
                        .map(|path| format!("{}/{path}", zone.trim_start_matches('/'))),
                ),
                // What was taken away meanwhile is not there.
                Err(Error::Denied(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    };
    let repeated = Repeated { state: None, responses: None };
    let found = match server.call(context, b"resources/list", repeated, false, work).await? {
        Came::To(Ok(found)) => found,
        Came::To(Err(error)) => return Err(ErrorData::internal_error(error.to_string(), None)),
        Came::Ask(_) => Vec::new(),
    };
    let more = found.len() > start + PAGE && start + PAGE < MAX_LISTED;
    let mut resources = Vec::new();
    if start == 0 {
        let mut audit = Resource::new(AUDIT, "audit");
        audit.title = Some("What was done in this session".to_owned());
        audit.mime_type = Some("application/jsonl".to_owned());
        resources.push(audit);
    }
    for path in found.iter().skip(start).take(PAGE) {
        let path = format!("/{path}");
        let mut file = Resource::new(uri(&path), path.trim_start_matches('/'));
        file.mime_type = mime(&path).map(str::to_owned);
        resources.push(file);
    }
    let mut listed = ListResourcesResult::with_all_items(resources);
    listed.next_cursor = more.then(|| (start + PAGE).to_string());
    Ok(listed)
}

/// Reads a resource.
pub(super) async fn read(
    server: &Server,
    request: ReadResourceRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let ReadResourceRequestParams { uri, input_responses, request_state, .. } = request;
    let path = match named(&uri) {
        Some(Named::File(path)) => path,
        Some(Named::Audit) => return records(server, uri).await,
        None => return Err(unknown(&uri)),
    };
    let what = [b"resources/read\0", uri.as_bytes()].concat();
    let repeated = Repeated { state: request_state, responses: input_responses };
    let asked = path.clone();
    let work = move |sandbox: &Sandbox| sandbox.read_bytes(&asked, 0, MAX_BYTES);
    let read = match server.call(context, &what, repeated, false, work).await? {
        Came::Ask(asked) => return Ok((*asked).into()),
        Came::To(done) => done.map_err(|error| refused(&uri, &error))?,
    };
    if read.more {
        let says = format!(
            "The file has {} bytes, and a resource at most {MAX_BYTES}: use read_file, with offset and limit.",
            read.size
        );
        return Err(ErrorData::invalid_params(says, Some(json!({ "uri": uri }))));
    }
    let kind = mime(&path).map(str::to_owned);
    let contents = match String::from_utf8(read.bytes) {
        Ok(text) if !text.contains('\0') => ResourceContents::TextResourceContents {
            mime_type: kind.or_else(|| Some("text/plain".to_owned())),
            uri,
            text,
            meta: None,
        },
        other => {
            let bytes = other.map_or_else(|error| error.into_bytes(), String::into_bytes);
            ResourceContents::BlobResourceContents {
                mime_type: kind.or_else(|| Some("application/octet-stream".to_owned())),
                uri,
                blob: BASE64.encode(bytes),
                meta: None,
            }
        }
    };
    Ok(ReadResourceResult::new(vec![contents]).into())
}

/// Returns the records of this session, as the client's user may see them: without
/// what is said of the host.
async fn records(server: &Server, uri: String) -> Result<ReadResourceResponse, ErrorData> {
    // One at a time: it can be long, and others have something to do too.
    let (Some(_ticket), Ok(_one)) =
        (server.desk().take(), tokio::time::timeout(PATIENCE, server.one_reader().lock()).await)
    else {
        return Err(ErrorData::internal_error("too many calls are under way", None));
    };
    let Some(_turn) = server.desk().turn(false).await else { return Err(cancelled()) };
    let (rules, state) = (server.rules(), server.state().clone());
    let reading = tokio::task::spawn_blocking(move || -> std::io::Result<String> {
        rules.use_now().map_err(std::io::Error::other)?;
        let sessions = rules.sessions();
        let path = audit::log_path(&state, rules.sandbox().project_dir());
        let mut newest = std::collections::VecDeque::new();
        let mut log = std::fs::File::open(path)?;
        log.seek(SeekFrom::Start(rules.log_before()))?;
        audit::each(log, |record| {
            if sessions.iter().any(|session| *session == record.session) {
                if newest.len() == MAX_RECORDS {
                    newest.pop_front();
                }
                newest.push_back(record);
            }
        })?;
        let mut text = String::new();
        for record in newest {
            let mut value = serde_json::to_value(&record)?;
            if let Value::Object(object) = &mut value {
                for host in ["project", "error"] {
                    object.remove(host);
                }
            }
            text.push_str(&value.to_string());
            text.push('\n');
        }
        Ok(text)
    });
    let text = match reading.await {
        Ok(Ok(text)) => text,
        _ => return Err(ErrorData::internal_error("the records cannot be read", None)),
    };
    let contents = ResourceContents::TextResourceContents {
        uri,
        mime_type: Some("application/jsonl".to_owned()),
        text,
        meta: None,
    };
    Ok(ReadResourceResult::new(vec![contents]).into())
}

/// Something that a client wants to hear about.
pub(super) struct Watched {
    pub(super) uri: String,
    /// Nothing for the records: every call adds to them, so that they change is no
    /// news.
    file: Option<WatchedFile>,
}

struct WatchedFile {
    path: String,
    /// Under which rules it is watched, if they let it.
    held: Mutex<(u64, Option<Watch>)>,
}

impl Watched {
    /// Returns whether it has changed since this was last asked. Under other rules
    /// it is watched anew, if they let it.
    pub(super) fn changed(&self, rules: &Rules) -> bool {
        let Some(WatchedFile { path, held }) = &self.file else { return false };
        if rules.refusal().is_err() {
            return false;
        }
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let version = rules.version();
        if held.0 != version {
            *held = (version, rules.sandbox().deferring(Vec::new()).watch(path).ok());
        }
        held.1.as_mut().is_some_and(Watch::changed)
    }
}

/// Begins to watch a resource, where nobody has to be asked.
pub(super) fn watch(rules: &Rules, uri: &str) -> Result<Watched, ErrorData> {
    let path = match named(uri) {
        Some(Named::File(path)) => path,
        Some(Named::Audit) => return Ok(Watched { uri: uri.to_owned(), file: None }),
        None => return Err(unknown(uri)),
    };
    let version = rules.version();
    let sandbox = rules.use_now().map_err(|error| refused(uri, &error))?.sandbox;
    let view = sandbox.grant().view();
    let spot = view.parse(&path).ok().and_then(|path| view.locate(&path));
    let free = matches!(
        spot, Some(Spot::In { mount, .. }) if looks_freely(&view.mounts()[mount].zone)
    );
    if !free && sandbox.can_read(&path) {
        return Err(ErrorData::invalid_params(
            "this needs the user's approval: read it instead",
            None,
        ));
    }
    match sandbox.deferring(Vec::new()).watch(&path) {
        Ok(watch) => {
            let held = Mutex::new((version, Some(watch)));
            Ok(Watched { uri: uri.to_owned(), file: Some(WatchedFile { path, held }) })
        }
        Err(error) => Err(refused(uri, &error)),
    }
}

fn unknown(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(
        "there is no such resource: files are zonekeep:///PATH",
        Some(json!({ "uri": uri })),
    )
}

fn refused(uri: &str, error: &Error) -> ErrorData {
    let data = Some(json!({ "uri": uri, "code": error.code() }));
    let says = error.to_string();
    match error {
        Error::Failed(failure) if matches!(failure.fault, Fault::NotFound { .. }) => {
            ErrorData::resource_not_found(says, data)
        }
        _ if error.is_internal() => ErrorData::internal_error(says, data),
        _ => ErrorData::invalid_params(says, data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris() {
        let cases = [
            ("/input/a.txt", "zonekeep:///input/a.txt"),
            ("/input/a b#1?.md", "zonekeep:///input/a%20b%231%3F.md"),
            ("/input/é%41", "zonekeep:///input/%C3%A9%2541"),
        ];
        for (path, text) in cases {
            assert_eq!(uri(path), text);
            assert_eq!(named(text), Some(Named::File(path.to_owned())));
        }
        assert_eq!(named(AUDIT), Some(Named::Audit));
        let wrong = [
            "",
            "file:///etc/passwd",
            "zonekeep://",
            "zonekeep://audit",
            "zonekeep://audit/other",
            "zonekeep://input/a",
            "zonekeep:///a?b",
            "zonekeep:///a#b",
            "zonekeep:///%",
            "zonekeep:///%4",
            "zonekeep:///%zz",
            "zonekeep:///%ff",
            "ZONEKEEP:///a",
            "zonekeep:/a",
        ];
        for text in wrong {
            assert_eq!(named(text), None, "{text}");
        }
        // What is written in another way is still judged as a path.
        assert_eq!(named("zonekeep:///%2e%2e/etc"), Some(Named::File("/../etc".to_owned())));
    }
}
