//! Changes a TOML file in one place: order, blanks and comments stay.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table};

use super::{Edit, To};

/// Returns the text with the changes made, or why that cannot be done safely.
pub(super) fn apply(text: &str, edits: &[Edit]) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        format!("{} (line {line})", error.message())
    })?;
    let mut changed = false;
    for edit in edits {
        changed |= set(document.as_table_mut(), edit)?;
    }
    // What needs no change is not written anew.
    Ok(if changed { document.to_string() } else { text.to_owned() })
}

/// Makes a change; returns whether there was anything to do.
fn set(root: &mut Table, edit: &Edit) -> Result<bool, String> {
    let Some((last, above)) = edit.path.split_last() else { return Ok(false) };
    let mut table: &mut dyn toml_edit::TableLike = root;
    let removes = matches!(edit.to, To::Gone(_) | To::Without(_));
    for (depth, key) in above.iter().enumerate() {
        if removes && !table.contains_key(key) {
            return Ok(false);
        }
        let item = table.entry(key).or_insert_with(|| {
            let mut table = Table::new();
            // Only what holds values gets a header.
            table.set_implicit(true);
            Item::Table(table)
        });
        let path = edit.path[..=depth].join(".");
        table = item.as_table_like_mut().ok_or_else(|| format!("'{path}' in it is not a table"))?;
    }
    let before = table.get(last).map(to_json);
    if edit.is_idle(before.as_ref()) {
        return Ok(false);
    }
    let before = before.unwrap_or(Value::Null);
    let after = edit.result(&before)?;
    if before == after {
        return Ok(false);
    }
    if let To::Gone(_) = edit.to {
        table.remove(last);
        return Ok(true);
    }
    match table.get_mut(last) {
        // Comments beside a value stay.
        Some(Item::Value(old)) if !after.is_object() => {
            let decor = old.decor().clone();
            *old = to_value(&after);
            *old.decor_mut() = decor;
        }
        Some(Item::Table(old)) if after.is_object() => {
            old.clear();
            fill(old, &after);
        }
        _ => {
            let item = match &after {
                Value::Object(_) => {
                    let mut table = Table::new();
                    fill(&mut table, &after);
                    Item::Table(table)
                }
                value => Item::Value(to_value(value)),
            };
            table.insert(last, item);
        }
    }
    Ok(true)
}

fn fill(table: &mut Table, value: &Value) {
    for (key, value) in value.as_object().into_iter().flatten() {
        table.insert(key, Item::Value(to_value(value)));
    }
}

fn to_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(flag) => (*flag).into(),
        Value::Array(items) => items.iter().map(to_value).collect::<Array>().into(),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| (key.as_str(), to_value(value)));
            pairs.collect::<InlineTable>().into()
        }
        Value::String(text) => text.as_str().into(),
        other => other.as_i64().map_or_else(|| other.to_string().into(), Into::into),
    }
}

/// Returns an item as the value that it is compared by.
fn to_json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        let pairs = table.iter().map(|(key, item)| (key.to_owned(), to_json(item)));
        return Value::Object(pairs.collect());
    }
    match item.as_value() {
        Some(toml_edit::Value::String(text)) => Value::String(text.value().clone()),
        Some(toml_edit::Value::Boolean(flag)) => Value::Bool(*flag.value()),
        Some(toml_edit::Value::Integer(number)) => Value::from(*number.value()),
        Some(toml_edit::Value::Array(items)) => {
            Value::Array(items.iter().map(|item| to_json(&Item::Value(item.clone()))).collect())
        }
        // Never equal to what is wanted.
        Some(other) => Value::String(format!("\0{other}")),
        None => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_is_added_or_replaced_and_everything_else_stays() {
        let edits = [
            Edit::set(
                &["mcp_servers", "zonekeep"],
                json!({"command": "zonekeep", "args": ["mcp"]}),
            ),
            Edit::set(&["web_search"], json!("disabled")),
            Edit::set(&["features", "shell_tool"], json!(false)),
        ];
        let cases = [
            (
                "",
                "web_search = \"disabled\"\n\n[mcp_servers.zonekeep]\ncommand = \"zonekeep\"\nargs = [\"mcp\"]\n\n[features]\nshell_tool = false\n",
            ),
            (
                "# mine\nmodel = 'x'  # so\nweb_search = \"live\" # really\n\n[features]\na = true\n\n[mcp_servers.zonekeep]\ncommand = \"old\"\nenv = { A = \"1\" }\n\n[mcp_servers.y]\ncommand = \"y\" # y\n",
                "# mine\nmodel = 'x'  # so\nweb_search = \"disabled\" # really\n\n[features]\na = true\nshell_tool = false\n\n[mcp_servers.zonekeep]\ncommand = \"zonekeep\"\nargs = [\"mcp\"]\n\n[mcp_servers.y]\ncommand = \"y\" # y\n",
            ),
        ];
        for (before, after) in cases {
            let got = apply(before, &edits).unwrap();
            assert_eq!(got, after, "{before}");
            assert_eq!(apply(&got, &edits).unwrap(), got, "a second time");
        }
        let same = "features={shell_tool=false}\nweb_search='disabled'\nmcp_servers.zonekeep={args=['mcp'],command='zonekeep'}\n";
        assert_eq!(apply(same, &edits).unwrap(), same, "the same in other words");
    }

    #[test]
    fn what_cannot_be_changed_safely_is_refused() {
        let edit = || Edit::set(&["mcp_servers", "zonekeep"], json!({"command": "zonekeep"}));
        assert_eq!(
            apply("mcp_servers = 1\n", &[edit()]).unwrap_err(),
            "'mcp_servers' in it is not a table"
        );
        let why = apply("a = 1\nb = = 2\n", &[edit()]).unwrap_err();
        assert!(why.ends_with("(line 2)"), "{why}");
    }
}
