//! Changes a JSON file in one place: order, indentation and comments stay.

use serde_json::{Map, Value};

use super::jsonc::{self, Kind, Node};
use super::{Edit, To};

/// Returns the text with the changes made, or why that cannot be done safely.
pub(super) fn apply(text: &str, edits: &[Edit]) -> Result<String, String> {
    let mut text = match text.trim().is_empty() {
        true => "{}\n".to_owned(),
        false => text.to_owned(),
    };
    for edit in edits {
        let node = jsonc::parse(&text)?;
        let mut expected = node.value();
        let found = edit.path.iter().try_fold(&expected, |at, key| at.get(key));
        if edit.is_idle(found) {
            continue;
        }
        let changed = if let To::Gone(_) = edit.to {
            remove(&mut expected, &edit.path);
            cut(&text, &node, &edit.path)?
        } else {
            let wanted = wanted(&mut expected, edit)?;
            if expected == node.value() {
                continue;
            }
            set(&text, &node, &edit.path, &wanted)?
        };
        // What was meant is what is there now, and nothing else changed.
        match jsonc::parse(&changed) {
            Ok(node) if node.value() == expected => text = changed,
            _ => return Err("it is written in a way that cannot be changed safely".to_owned()),
        }
    }
    Ok(text)
}

/// Makes the change in a value; returns what stands at its path then.
fn wanted(root: &mut Value, edit: &Edit) -> Result<Value, String> {
    let mut at = root;
    for (depth, key) in edit.path.iter().enumerate() {
        let object = at.as_object_mut().ok_or_else(|| not_an_object(&edit.path[..depth]))?;
        at = object.entry(key).or_insert_with(|| match depth + 1 == edit.path.len() {
            true => Value::Null,
            false => Value::Object(Map::new()),
        });
    }
    *at = edit.result(at)?;
    Ok(at.clone())
}

/// Takes a member out of a value.
fn remove(root: &mut Value, path: &[String]) {
    let Some((last, above)) = path.split_last() else { return };
    let object = above.iter().try_fold(root, |at, key| at.get_mut(key));
    if let Some(object) = object.and_then(Value::as_object_mut) {
        object.remove(last);
    }
}

/// Returns the text without the member at `path`, its comma, and the line that it stood on
/// alone.
fn cut(text: &str, root: &Node, path: &[String]) -> Result<String, String> {
    let gone = || "it is written in a way that cannot be changed safely".to_owned();
    let (last, above) = path.split_last().ok_or_else(gone)?;
    let mut node = root;
    for (depth, key) in above.iter().enumerate() {
        let Kind::Object(members) = &node.kind else { return Err(not_an_object(&path[..depth])) };
        node = &members.iter().find(|member| &member.key == key).ok_or_else(gone)?.value;
    }
    let Kind::Object(members) = &node.kind else { return Err(not_an_object(above)) };
    let at = members.iter().position(|member| &member.key == last).ok_or_else(gone)?;
    let member = &members[at];
    let (mut start, mut end) = (member.start, member.value.span.end);
    let close = node.span.end - 1;
    let mut out = text.to_owned();
    let before = at.checked_sub(1).map(|at| members[at].value.span.end);
    match (comma_after(text, end, close), before) {
        (Some(comma), _) if text[end..comma].trim().is_empty() => end = comma + 1,
        (None, Some(before)) => {
            let comma = comma_after(text, before, start).ok_or_else(gone)?;
            out.replace_range(comma..=comma, " ");
            if text[comma + 1..start].trim().is_empty() {
                start = comma;
            }
        }
        (None, None) => {}
        (Some(_), _) => return Err(gone()),
    }
    if members.len() == 1 && text[node.span.start + 1..start].trim().is_empty() {
        if text[end..close].trim().is_empty() {
            (start, end) = (node.span.start + 1, close);
        }
    } else if starts_line(text, start) {
        let blanks =
            text[end..close].len() - text[end..close].trim_start_matches([' ', '\t']).len();
        let rest = &text[end + blanks..close];
        let line_end =
            if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
        if line_end > 0 {
            end += blanks + line_end;
            start -= line_indent(text, start).len();
        }
    }
    out.replace_range(start..end, "");
    Ok(out)
}

fn not_an_object(path: &[String]) -> String {
    match path {
        [] => "it does not hold an object".to_owned(),
        path => format!("'{}' in it is not an object", path.join(".")),
    }
}

/// Returns the text with `value` at `path`.
fn set(text: &str, root: &Node, path: &[String], value: &Value) -> Result<String, String> {
    let unit = indent_unit(text, root);
    let mut node = root;
    for (depth, key) in path.iter().enumerate() {
        let Kind::Object(members) = &node.kind else { return Err(not_an_object(&path[..depth])) };
        match members.iter().find(|member| &member.key == key) {
            Some(member) => node = &member.value,
            None => {
                let rest = path[depth + 1..].iter().rev();
                let value = rest.fold(value.clone(), |value, key| {
                    Value::Object(Map::from_iter([(key.clone(), value)]))
                });
                return Ok(insert(text, node, key, &value, &unit));
            }
        }
    }
    let indent = line_indent(text, node.span.start);
    let mut out = text.to_owned();
    out.replace_range(node.span.clone(), &render(value, &unit, indent));
    Ok(out)
}

/// Adds a member at the end of an object.
fn insert(text: &str, object: &Node, key: &str, value: &Value, unit: &str) -> String {
    let Kind::Object(members) = &object.kind else { return text.to_owned() };
    let outer = line_indent(text, object.span.start).to_owned();
    let inner = match members.last() {
        // As the last one stands, where it stands on a line of its own.
        Some(last) if starts_line(text, last.start) => line_indent(text, last.start).to_owned(),
        _ => format!("{outer}{unit}"),
    };
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let member = format!("{}: {}", Value::String(key.to_owned()), render(value, unit, &inner));
    let member = member.replace('\n', end);
    let mut out = text.to_owned();
    let Some(last) = members.last() else {
        // Comments in an empty object stay before what is added.
        let close = object.span.end - 1;
        let body = text[object.span.start + 1..close].trim_end().len();
        let from = object.span.start + 1 + body;
        out.replace_range(from..close, &format!("{end}{inner}{member}{end}{outer}"));
        return out;
    };
    let after = last.value.span.end;
    // A comma that stands there already is used.
    let comma = comma_after(text, after, object.span.end - 1);
    let addition = format!("{end}{inner}{member}");
    match comma {
        Some(at) => {
            // Behind a comment that belongs to the last one.
            let at = end_of_line_comment(text, at + 1, object.span.end - 1);
            out.insert_str(at, &addition);
        }
        None => {
            let at = end_of_line_comment(text, after, object.span.end - 1);
            out.insert_str(at, &addition);
            out.insert(after, ',');
        }
    }
    if !text[after..object.span.end - 1].contains('\n') {
        // The end stood on the line of the last one.
        let close = object.span.end - 1 + out.len() - text.len();
        let body = out[..close].trim_end_matches([' ', '\t']).len();
        out.replace_range(body..close, &format!("{end}{outer}"));
    }
    out
}

/// Returns where a comma stands behind a member, comments aside.
fn comma_after(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |n| n + 2);
        } else if rest.starts_with(',') {
            return Some(at);
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// Returns the end of a line comment that follows on the same line, or `from`.
fn end_of_line_comment(text: &str, from: usize, to: usize) -> usize {
    let line = &text[from..to];
    let line = &line[..line.find(['\n', '\r']).unwrap_or(line.len())];
    match line.trim_start().starts_with("//") {
        true => from + line.len(),
        false => from,
    }
}

/// Returns a value as text whose further lines are indented.
fn render(value: &Value, unit: &str, indent: &str) -> String {
    let inner = format!("{indent}{unit}");
    let list = |open: char, close: char, parts: Vec<String>| match parts.is_empty() {
        true => format!("{open}{close}"),
        false => format!("{open}\n{inner}{}\n{indent}{close}", parts.join(&format!(",\n{inner}"))),
    };
    match value {
        Value::Object(map) => {
            let part = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::String(key.clone()), render(value, unit, &inner))
            };
            list('{', '}', map.iter().map(part).collect())
        }
        Value::Array(items) => {
            let short = items.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
            match items.iter().all(Value::is_string) && short.len() <= 60 {
                true => format!("[{short}]"),
                false => {
                    list('[', ']', items.iter().map(|item| render(item, unit, &inner)).collect())
                }
            }
        }
        value => value.to_string(),
    }
}

/// Returns what lines are indented with: as in the first object that is.
fn indent_unit(text: &str, root: &Node) -> String {
    fn find<'a>(text: &'a str, node: &Node) -> Option<&'a str> {
        let Kind::Object(members) = &node.kind else { return None };
        let first = members.first()?;
        let outer = line_indent(text, node.span.start);
        if starts_line(text, first.start)
            && let Some(unit) = line_indent(text, first.start).strip_prefix(outer)
            && !unit.is_empty()
        {
            return Some(unit);
        }
        members.iter().find_map(|member| find(text, &member.value))
    }
    find(text, root).unwrap_or("  ").to_owned()
}

/// Returns the blanks that the line of a place begins with.
fn line_indent(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |n| n + 1)..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn starts_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

/// Returns a small file that holds the changes and nothing else.
pub(super) fn snippet(edits: &[Edit]) -> Result<String, String> {
    let mut root = Value::Object(Map::new());
    for edit in edits {
        wanted(&mut root, edit)?;
    }
    Ok(render(&root, "  ", "") + "\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Edit {
        Edit::set(&["mcpServers", "zonekeep"], json!({"command": "zonekeep", "args": ["mcp"]}))
    }

    #[test]
    fn a_member_is_added_and_everything_else_stays() {
        let cases = [
            (
                "",
                "{\n  \"mcpServers\": {\n    \"zonekeep\": {\n      \"command\": \"zonekeep\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n",
            ),
            (
                "{\n\t\"b\": 1,\n\t\"a\": [1,2]\n}",
                "{\n\t\"b\": 1,\n\t\"a\": [1,2],\n\t\"mcpServers\": {\n\t\t\"zonekeep\": {\n\t\t\t\"command\": \"zonekeep\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t}\n}",
            ),
            (
                "// top\n{\n    // before\n    \"mcpServers\": {\n        \"x\": {}, // of x, with a comma\n    },\n    /* last */\n}\n",
                "// top\n{\n    // before\n    \"mcpServers\": {\n        \"x\": {}, // of x, with a comma\n        \"zonekeep\": {\n            \"command\": \"zonekeep\",\n            \"args\": [\"mcp\"]\n        }\n    },\n    /* last */\n}\n",
            ),
            (
                "{\"mcpServers\": {\"x\": 1}}",
                "{\"mcpServers\": {\"x\": 1,\n  \"zonekeep\": {\n    \"command\": \"zonekeep\",\n    \"args\": [\"mcp\"]\n  }\n}}",
            ),
            (
                "{\n  \"mcpServers\": {\n    \"x\": 1 // of x\n  }\n}",
                "{\n  \"mcpServers\": {\n    \"x\": 1, // of x\n    \"zonekeep\": {\n      \"command\": \"zonekeep\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}",
            ),
            (
                "{\n  \"mcpServers\": {\n    // none yet\n  }\n}",
                "{\n  \"mcpServers\": {\n    // none yet\n    \"zonekeep\": {\n      \"command\": \"zonekeep\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}",
            ),
            (
                "{\r\n  \"mcpServers\": {}\r\n}\r\n",
                "{\r\n  \"mcpServers\": {\r\n    \"zonekeep\": {\r\n      \"command\": \"zonekeep\",\r\n      \"args\": [\"mcp\"]\r\n    }\r\n  }\r\n}\r\n",
            ),
        ];
        for (before, after) in cases {
            let got = apply(before, &[entry()]).unwrap();
            assert_eq!(got, after, "{before}");
            assert_eq!(apply(&got, &[entry()]).unwrap(), got, "a second time");
        }
    }

    #[test]
    fn what_differs_is_replaced_and_what_is_there_stays_as_it_is_written() {
        let cases = [
            (
                "{\"mcpServers\": {\"zonekeep\": {\"args\": [\"mcp\"], /* so */ \"command\": \"zonekeep\"}}}",
                None,
            ),
            (
                "{\n  \"mcpServers\": {\n    \"zonekeep\": {\"command\": \"old\"}, // mine\n    \"y\": 2\n  }\n}",
                Some(
                    "{\n  \"mcpServers\": {\n    \"zonekeep\": {\n      \"command\": \"zonekeep\",\n      \"args\": [\"mcp\"]\n    }, // mine\n    \"y\": 2\n  }\n}",
                ),
            ),
        ];
        for (before, after) in cases {
            assert_eq!(apply(before, &[entry()]).unwrap(), after.unwrap_or(before));
        }
    }

    #[test]
    fn what_was_added_is_taken_out_and_everything_else_stays() {
        let cases = [
            "{}\n",
            "{\"a\": 1}",
            "{\n\t\"b\": 1,\n\t\"a\": [1,2]\n}",
            "// top\n{\n  \"mcpServers\": {\n    \"x\": {}, // of x\n    \"y\": 1\n  },\n  /* last */\n}\n",
            "{\n  \"mcpServers\": {\n    // none yet\n  }\n}",
            "{\r\n  \"mcpServers\": { \"x\": 1 }\r\n}\r\n",
        ];
        for before in cases {
            let deny = Edit::add(&["permissions", "deny"], &["Bash"]);
            let made = [entry(), deny];
            let installed = apply(before, &made).unwrap();
            let undone: Vec<Edit> = made.iter().map(Edit::undone).collect();
            let after = apply(&installed, &undone).unwrap();
            let mut want = jsonc::parse(before).unwrap().value();
            let object = want.as_object_mut().unwrap();
            object.entry("mcpServers").or_insert(json!({}));
            object.insert("permissions".to_owned(), json!({ "deny": [] }));
            assert_eq!(jsonc::parse(&after).unwrap().value(), want, "{before}\n{after}");
            for comment in ["// top", "// of x", "/* last */", "// none yet"] {
                assert_eq!(before.contains(comment), after.contains(comment), "{after}");
            }
            assert_eq!(apply(&after, &undone).unwrap(), after, "a second time");
        }
        let cases = [
            ("{\"mcpServers\": {\"zonekeep\": 1, \"y\": 2}}", "{\"mcpServers\": { \"y\": 2}}"),
            ("{\"mcpServers\": {\"y\": 2, \"zonekeep\": 1}}", "{\"mcpServers\": {\"y\": 2}}"),
            (
                "{\n  \"mcpServers\": {\n    \"zonekeep\": 1,\n    \"y\": 2\n  }\n}",
                "{\n  \"mcpServers\": {\n    \"y\": 2\n  }\n}",
            ),
            ("{\n  \"mcpServers\": {\n    \"zonekeep\": 1\n  }\n}", "{\n  \"mcpServers\": {}\n}"),
        ];
        let gone = Edit { path: entry().path, to: To::Gone(None) };
        for (before, after) in cases {
            assert_eq!(apply(before, std::slice::from_ref(&gone)).unwrap(), after);
        }
        let other = "{\"mcpServers\": {\"zonekeep\": {\"command\": \"mine\"}}}";
        assert_eq!(apply(other, &[entry().undone()]).unwrap(), other, "another value stays");
    }

    #[test]
    fn texts_are_added_to_a_list_once() {
        let edit = || Edit::add(&["permissions", "deny"], &["Bash", "Read"]);
        let cases = [
            ("{\"permissions\": {\"deny\": [\"Read\", \"Foo\"]}}", vec!["Read", "Foo", "Bash"]),
            ("{\"permissions\": {\"deny\": [\"Bash\", \"Read\"]}}", vec!["Bash", "Read"]),
            ("{\"permissions\": {}}", vec!["Bash", "Read"]),
            ("{}", vec!["Bash", "Read"]),
        ];
        for (before, after) in cases {
            let got = apply(before, &[edit()]).unwrap();
            let value = jsonc::parse(&got).unwrap().value();
            assert_eq!(value["permissions"]["deny"], json!(after), "{before}");
            assert_eq!(apply(&got, &[edit()]).unwrap(), got, "a second time");
        }
    }

    #[test]
    fn what_cannot_be_changed_safely_is_refused() {
        let cases = [
            ("[1]", "it does not hold an object"),
            ("{\"mcpServers\": 1}", "'mcpServers' in it is not an object"),
            ("{\"mcpServers\": {}", "a ',' or '}' is missing (line 1)"),
            ("{\"mcpServers\": {}, \"mcpServers\": {}}", "a name stands there twice (line 1)"),
            ("{\"permissions\": {\"deny\": \"x\"}}", "'permissions.deny' in it is not a list"),
        ];
        for (text, why) in cases {
            let edits = [entry(), Edit::add(&["permissions", "deny"], &["Bash"])];
            assert_eq!(apply(text, &edits).unwrap_err(), why, "{text}");
        }
    }
}
