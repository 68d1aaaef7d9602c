//! Finds links in what indexes answer.
//!
//! Answers may be long and are then cut, so they are searched and not parsed: what
//! is found is only hosts, and each is checked like any other.

/// Returns the values of a key in a JSON text, wherever it stands, without
/// repetitions.
pub(super) fn json_values(text: &str, key: &str) -> Vec<String> {
    let mut values = Vec::new();
    let quoted = format!("\"{key}\"");
    for piece in text.split(&quoted).skip(1) {
        let Some(value) = piece.trim_start().strip_prefix(':') else { continue };
        let Some(value) = value.trim_start().strip_prefix('"').and_then(json_string) else {
            continue;
        };
        push(&mut values, value);
    }
    values
}

/// Returns a string whose opening quote has been read; `None` if it does not end.
fn json_string(text: &str) -> Option<String> {
    let mut end = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                end = Some(at);
                break;
            }
            _ => {}
        }
    }
    serde_json::from_str(&format!("\"{}\"", text.get(..end?)?)).ok()
}

/// Returns where the links of an HTML page lead, without repetitions of a place.
pub(super) fn html_links(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let mut links = Vec::new();
    for (at, word) in lower.match_indices("href") {
        let after = text.get(at + word.len()..).unwrap_or_default().trim_start();
        let Some(value) = after.strip_prefix('=').map(str::trim_start) else { continue };
        let link = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value.get(1..).and_then(|rest| rest.split_once(quote)),
            _ => value.split_once([' ', '>']),
        };
        if let Some((link, _)) = link {
            push(&mut links, link.replace("&amp;", "&"));
        }
    }
    links
}

/// Keeps the first link to each place; thousands of files lie in few. Links that
/// name no place lead to where the page is, and one of them stands for all.
fn push(links: &mut Vec<String>, link: String) {
    fn place(link: &str) -> &str {
        let absolute = link.find("//").map(|at| at + 2);
        let end = absolute.and_then(|start| Some(start + link.get(start..)?.find('/')?));
        absolute.map_or("", |_| link.get(..end.unwrap_or(link.len())).unwrap_or_default())
    }
    if !links.iter().any(|other| place(other) == place(&link)) {
        links.push(link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_json_that_is_cut() {
        let text = r#"{"files": [{"url" : "https://a.test/1", "other": "https://no.test/"},
            {"url":"https:\/\/b.test\/1"}, {"url": 5}, {"x":"url"}, {"url":"https://a.test/2"},
            {"url":"https://c.t"#;
        assert_eq!(json_values(text, "url"), ["https://a.test/1", "https://b.test/1"]);
        assert_eq!(json_values("", "url"), Vec::<String>::new());
    }

    #[test]
    fn links_are_found_in_html() {
        let text = "<a href=\"https://a.test/x?a=1&amp;b#sha256=0\">x</a> \
                    <A HREF = '../b.whl'>y</A>\
                    <a data-href=1 href=https://c.test/z>z</a> \
                    <a href=\"https://a.test/y\"> <a href=\"cut";
        let wanted = ["https://a.test/x?a=1&b#sha256=0", "../b.whl", "https://c.test/z"];
        assert_eq!(html_links(text), wanted);
    }
}
