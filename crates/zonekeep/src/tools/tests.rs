use insta::assert_snapshot;
use zonekeep_policy::{At, Mode, Policy, Zone};

use super::*;
use crate::approve::AllYes;
use crate::session::Session;

/// A directory to read and one to write, in memory.
fn sandbox() -> Sandbox {
    let mut policy = Policy::empty("/project");
    for name in ["input", "output"] {
        policy.zones.push(Zone::new(name, format!("/project/{name}"), Mode::Rw, At::Default));
    }
    let sandbox = Session::in_memory(&policy, AllYes).unwrap().sandbox();
    for (path, content) in [("/input/data.pdf", "%PDF-"), ("/input/config.json", "{}\n")] {
        sandbox.write(path, content).unwrap();
    }
    sandbox
}

fn text(sandbox: &Sandbox, tool: &str, arguments: Value) -> String {
    call(sandbox, tool, arguments).map_or_else(|error| error.to_string(), |output| output.text)
}

/// A value that a schema allows.
fn example(name: &str, schema: &Value) -> Value {
    match (name, schema["type"].as_str()) {
        ("encoding", _) => json!("text"),
        ("action", _) => json!("list"),
        (_, Some("string")) => json!("x"),
        (_, Some("boolean")) => json!(true),
        (_, Some("integer")) => json!(1),
        (_, Some("array")) if schema["items"]["type"] == "string" => json!(["x"]),
        (_, Some("array")) => {
            json!([{ "old_string": "a", "new_string": "b", "replace_all": true }])
        }
        (_, other) => panic!("{name}: {other:?}"),
    }
}

fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

/// Returns a call's arguments with only what is required.
fn least(schema: &Value) -> serde_json::Map<String, Value> {
    let names = required(schema).into_iter();
    names.map(|name| (name.to_owned(), example(name, &schema["properties"][name]))).collect()
}

#[test]
fn schemas_and_arguments_say_the_same() {
    let sandbox = sandbox();
    for tool in all() {
        let schema = tool.schema();
        let properties = schema["properties"].as_object().unwrap();
        let refused = |arguments: serde_json::Map<String, Value>| match call(
            &sandbox,
            tool.name,
            Value::Object(arguments),
        ) {
            Err(Error::BadArguments { reason, .. }) => Some(reason),
            _ => None,
        };
        // What the schema has, the tool takes.
        for (name, property) in properties {
            let mut arguments = least(&schema);
            arguments.insert(name.clone(), example(name, property));
            let reason = refused(arguments).unwrap_or_default();
            // Which of them go together is not for a schema to say.
            let fits = reason.is_empty() || reason.starts_with("give either");
            assert!(fits, "{}.{name}: {reason}", tool.name);
            let mut arguments = least(&schema);
            arguments.insert(name.clone(), json!({ "wrong": "type" }));
            assert!(refused(arguments).is_some(), "{}.{name} takes anything", tool.name);
        }
        // What the tool takes, the schema has, but for other spellings.
        let mut arguments = least(&schema);
        arguments.insert("nonsense".to_owned(), json!(1));
        let reason = refused(arguments).unwrap();
        assert!(reason.starts_with("unknown field `nonsense`"), "{}: {reason}", tool.name);
        let taken = reason.lines().next().unwrap().split('`').skip(3).step_by(2);
        for name in taken.filter(|name| !["cmd", "file_path", "path", "from", "to"].contains(name))
        {
            assert!(properties.contains_key(name), "{}.{name} is not in the schema", tool.name);
        }
        // What the schema requires, the tool misses.
        for name in required(&schema) {
            let mut arguments = least(&schema);
            arguments.remove(name);
            let reason = refused(arguments).unwrap();
            assert!(reason.contains(&format!("missing field `{name}`")), "{reason}");
        }
    }
}

#[test]
fn paths_have_the_names_that_agents_use() {
    let sandbox = sandbox();
    for (tool, arguments) in [
        ("read_file", json!({ "file_path": "/input/config.json" })),
        ("write_file", json!({ "file_path": "/output/a", "content": "a" })),
        ("edit_file", json!({ "file_path": "/output/a", "old_string": "a", "new_string": "b" })),
        ("list_files", json!({ "file_path": "/output" })),
        ("search_files", json!({ "file_path": "/output", "pattern": "b" })),
        ("file_info", json!({ "file_path": "/output/a" })),
        ("copy_file", json!({ "from": "/output/a", "to": "/output/b" })),
        ("move_file", json!({ "path": "/output/b", "destination": "/output/c" })),
        ("delete_file", json!({ "file_path": "/output/a" })),
    ] {
        call(&sandbox, tool, arguments).unwrap();
    }
}

#[test]
fn every_name_of_a_tool_leads_to_it() {
    let sandbox = sandbox();
    for (alias, name) in tool_name::ALIASES {
        let known = all().iter().any(|tool| tool.name == *name);
        match call(&sandbox, alias, json!({ "nonsense": 1 })) {
            Err(Error::BadArguments { tool, .. }) => assert_eq!(tool, *name, "{alias}"),
            other => assert!(!known, "{alias}: {other:?}"),
        }
    }
    let names: Vec<&str> = all().iter().map(|tool| tool.name).collect();
    let known: Vec<&str> = tool_name::FILE_TOOLS
        .iter()
        .copied()
        .chain(["read_many", "tree", "shell", "shell_job"])
        .collect();
    assert_eq!(names, known);
}

#[test]
fn what_a_model_reads_about_the_tools_says_nothing_of_this_project() {
    let shown: Vec<String> =
        all().iter().map(|tool| format!("{}: {}", tool.name, tool.description)).collect();
    assert_snapshot!(shown.join("\n"), @r#"
    read_file: Read text file from sandbox. Returns up to 2000 lines and 50000 characters from `offset`; when more follow, the result says with which `offset` to continue. PNG, JPEG, GIF and WebP files are returned as images. Other binary files: set `encoding` to "base64".
    write_file: Write text file to sandbox. Creates the file and the directories above it, or replaces the whole file; with `append` adds to its end. To change part of a file use edit_file.
    edit_file: Replace text in a file. `old_string` must match exactly, white space included, and only once, unless `replace_all` is set. Several replacements can be given as `edits`: they are applied in order, all or none. Returns a diff.
    list_files: List files in sandbox. Without `pattern`: the names in the directory, with a last / for directories; "/" shows the directories that exist. With `pattern`: the files below the directory that match the glob, such as "**/*.md", with paths relative to it.
    search_files: Search the contents of the files below a directory with a regular expression (Rust syntax). Returns path, line number and line of each match, sorted, with paths relative to the directory that is searched. Binary files are passed over.
    delete_file: Delete a file, a link, or an empty directory. There is no way back.
    move_file: Move or rename a file or directory. Fails if the destination exists, unless `overwrite` is set.
    copy_file: Copy a file. Fails if the destination exists, unless `overwrite` is set.
    file_info: Return type, size, time of the last change, content hash and writability of a file or directory.
    read_many: Read several text files in one call. Each is returned from its beginning, under its path, as far as `max_chars` for all of them reaches; the result says where read_file continues. A file that cannot be read is named with the reason.
    tree: Show the files and directories below a directory as an indented tree, with a last / for directories. What .gitignore files exclude is left out unless `gitignore` is false. Where there is more than `limit`, the upper levels are shown.
    shell: Run a command and return what it printed and its exit status. It sees the same directories as the file tools and starts in the working directory. Some commands need the user's approval and some are never run; the answer says which. With `background` it goes on while you do something else: shell_job reads its output and stops it.
    shell_job: Look at or end the commands that shell started in the background. `list` shows them all, `read` what one has printed so far and whether it has ended, `signal` sends it a signal, `stop` ends it with all that it started.
    "#);
    for tool in all() {
        let text = tool.describe().to_string().to_lowercase();
        for word in ["zone", "/input", "/output", "/workspace", "/cache", "/project", "yaml"] {
            assert!(!text.contains(word), "{}: {word}", tool.name);
        }
    }
}

#[test]
fn hints_are_true() {
    let looks = ["read_file", "list_files", "search_files", "file_info", "read_many", "tree"];
    for tool in all() {
        assert_eq!(tool.hints.read_only, looks.contains(&tool.name), "{}", tool.name);
        assert_eq!(tool.hints.destructive, !tool.hints.read_only, "{}", tool.name);
        assert_eq!(tool.hints.open_world, tool.name == "shell", "{}", tool.name);
    }
}

#[test]
fn a_model_finds_its_way_as_the_design_says() {
    let mut policy = Policy::empty("/project");
    for (name, mode) in [("input", Mode::Ro), ("output", Mode::Rw)] {
        policy.zones.push(Zone::new(name, format!("/project/{name}"), mode, At::Default));
    }
    let sandbox = Session::in_memory(&policy, AllYes).unwrap().sandbox();
    let root = call(&sandbox, "list_files", json!({ "path": "/" })).unwrap();
    assert_eq!(root.text, "input/\noutput/");
    let names: Vec<&Value> =
        root.value["entries"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, ["input", "output"]);
    let refused =
        text(&sandbox, "write_file", json!({ "path": "/input/new.txt", "content": "content" }));
    assert_eq!(
        refused,
        "Cannot write to '/input/new.txt': path is read-only.\nWritable paths: /output"
    );
    let sandbox = self::sandbox();
    assert_eq!(text(&sandbox, "list_files", json!({ "path": "/input" })), "config.json\ndata.pdf");
}

#[test]
fn pages_say_where_they_end_and_how_to_go_on() {
    let sandbox = sandbox();
    let lines: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
    sandbox.write("/output/long.txt", lines).unwrap();
    sandbox.write("/output/wide.txt", format!("short\n{}\nend\n", "w".repeat(300))).unwrap();
    sandbox.write("/output/open.txt", "no line break").unwrap();
    sandbox.write("/output/empty.txt", "").unwrap();
    let read = |arguments: Value| text(&sandbox, "read_file", arguments);
    let last = |arguments: Value| read(arguments).lines().last().unwrap_or_default().to_owned();

    let long = |offset: u64, limit: u64| {
        last(json!({ "path": "/output/long.txt", "offset": offset, "limit": limit }))
    };
    assert_eq!(
        last(json!({ "path": "/output/long.txt" })),
        "[Lines 1 to 2000 of 5000. Continue with offset 2001.]"
    );
    assert_eq!(long(2001, 10), "[Lines 2001 to 2010 of 5000. Continue with offset 2011.]");
    assert_eq!(long(5000, 1), "line 5000");
    assert_eq!(long(4999, 50), "line 5000");
    assert_eq!(
        long(5001, 1),
        "The first line is number 1",
        "past the end is an error, not an empty page"
    );
    assert_eq!(read(json!({ "path": "/output/open.txt" })), "no line break");
    assert_eq!(read(json!({ "path": "/output/empty.txt" })), "[The file is empty.]");

    let cut = call(&sandbox, "read_file", json!({ "path": "/output/wide.txt", "max_chars": 100 }));
    let cut = cut.unwrap();
    assert_snapshot!(cut.text, @"
    short
    [Lines 1 to 1 of 3. Continue with offset 2.]
    ");
    assert_eq!(cut.value["truncated_by"], "bytes");
    assert_snapshot!(
        read(json!({ "path": "/output/wide.txt", "offset": 2, "limit": 1, "max_chars": 10 })),
        @r#"
    wwwwwwwwww
    [Line 2 of 3 is too long and was cut. The next line is at offset 3. To read on in it, use encoding "base64".]
    "#
    );
    assert_snapshot!(
        read(json!({ "path": "/output/open.txt", "encoding": "base64", "limit": 3 })),
        @"
    bm8g
    [3 bytes from 0 on, of 13. Continue with offset 3.]
    "
    );
    assert_eq!(
        read(json!({ "path": "/output/open.txt", "encoding": "base64", "offset": 10 })),
        "ZWFr"
    );
}

#[test]
fn a_page_has_fifty_thousand_characters_unless_more_are_asked_for() {
    let sandbox = sandbox();
    let whole: String = (0..1000).map(|n| format!("{n:099}\n")).collect();
    sandbox.write("/output/a.txt", &whole).unwrap();
    let length = |arguments: Value| {
        let value = call(&sandbox, "read_file", arguments).unwrap().value;
        value["content"].as_str().unwrap().chars().count()
    };
    assert_eq!(length(json!({ "path": "/output/a.txt" })), 50_000);
    assert_eq!(length(json!({ "path": "/output/a.txt", "max_chars": 1_000_000 })), 100_000);
}

#[test]
fn several_files_are_read_as_one_by_one() {
    let sandbox = sandbox();
    sandbox.write("/output/a.txt", "one\ntwo\n").unwrap();
    sandbox.write("/output/b.txt", "no line break").unwrap();
    sandbox.write("/output/c.txt", "three\nfour\n").unwrap();
    let read = |arguments: Value| text(&sandbox, "read_many", arguments);
    let paths = json!(["/output/a.txt", "/nowhere/x", "/output/b.txt", "/output/gone.txt"]);
    assert_snapshot!(read(json!({ "paths": paths })), @"
    ==> /output/a.txt <==
    one
    two
    ==> /nowhere/x <==
    Cannot access '/nowhere/x': path is outside sandbox.
    Readable paths: /input, /output
    ==> /output/b.txt <==
    no line break
    ==> /output/gone.txt <==
    Cannot read '/output/gone.txt': no such file.
    ");
    let paths = json!(["/output/c.txt", "/output/a.txt"]);
    assert_snapshot!(read(json!({ "paths": paths, "max_chars": 6 })), @"
    ==> /output/c.txt <==
    three
    [Lines 1 to 1 of 2. Continue with offset 2.]
    ==> /output/a.txt <==
    [Not read: the result is full. Call again for this file.]
    ");
    // Where nothing can be read, the call is refused as a call of read_file is.
    let alone = text(&sandbox, "read_file", json!({ "path": "/nowhere/x" }));
    assert_eq!(read(json!({ "paths": ["/nowhere/x", "/nowhere/y"] })), alone);
    let many: Vec<String> = (0..51).map(|n| format!("/output/{n}")).collect();
    for paths in [json!([]), json!(many)] {
        assert!(read(json!({ "paths": paths })).contains("give at "), "{paths}");
    }
}

#[test]
fn a_tree_shows_the_upper_levels_first() {
    let sandbox = sandbox();
    for path in ["a/b/c/d.txt", "a/x.txt", "a.txt", "z/y.txt", "target/made"] {
        sandbox.write(&format!("/output/{path}"), "x").unwrap();
    }
    sandbox.write("/output/.gitignore", "target\n").unwrap();
    let tree = |arguments: Value| text(&sandbox, "tree", arguments);
    assert_snapshot!(tree(json!({ "path": "/output" })), @"
    .gitignore
    a/
      b/
        c/
      x.txt
    a.txt
    z/
      y.txt
    ");
    assert_snapshot!(tree(json!({ "path": "/output", "depth": 9, "limit": 4 })), @"
    .gitignore
    a/
    a.txt
    z/
    [The first 4 of 9. Use a directory below or a higher limit.]
    ");
    assert_snapshot!(tree(json!({ "path": "/", "depth": 2, "gitignore": false })), @"
    input/
      config.json
      data.pdf
    output/
      .gitignore
      a/
      a.txt
      target/
      z/
    ");
    assert!(tree(json!({ "path": "/nowhere" })).starts_with("Cannot "));
    let file = tree(json!({ "path": "/output/a.txt" }));
    assert_eq!(
        file,
        text(&sandbox, "list_files", json!({ "path": "/output/a.txt", "pattern": "**" }))
    );
}

#[test]
fn following_the_notices_reads_the_whole_file() {
    let sandbox = sandbox();
    let whole: String = (1..=700).map(|n| format!("{n} {}\n", "é".repeat(n % 90))).collect();
    sandbox.write("/output/a.txt", &whole).unwrap();
    let (mut got, mut offset) = (String::new(), Some(1));
    for _ in 0..700 {
        let Some(next) = offset else { break };
        let page = json!({ "path": "/output/a.txt", "offset": next, "max_chars": 1000 });
        let value = call(&sandbox, "read_file", page).unwrap().value;
        got.push_str(value["content"].as_str().unwrap());
        offset = value["next_offset"].as_u64();
    }
    assert_eq!(offset, None);
    assert!(got == whole, "{} of {} bytes", got.len(), whole.len());
}
