//! Shows problems in files, with the line they are on.

use std::io::IsTerminal;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use zonekeep::approve::visible;
use zonekeep::policy::config::{Problem, Severity};
use zonekeep::policy::denial::is_invisible;

/// Prints problems to standard error, each with the line it is on. `source`
/// returns the text of a file, where there is one.
pub(crate) fn problems(problems: &[Problem], source: &dyn Fn(&str) -> Option<String>) {
    let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    for problem in problems {
        let (path, text) = match is_flag(problem) {
            true => ("the command line", problem.file.to_string()),
            false => (problem.file.as_ref(), source(&problem.file).unwrap_or_default()),
        };
        let one_line = |text: &str| visible(text).replace('\n', "\\n");
        let shown = Problem {
            message: one_line(&problem.message),
            hint: problem.hint.as_deref().map(one_line),
            ..problem.clone()
        };
        let (path, text) = (one_line(path), harmless(&text));
        tell!("{}\n", renderer.render(&[group(&shown, &path, &text)]));
    }
}

/// Returns a file's text with a sign in the place of each character that a
/// terminal would act on, so that columns stay what they are.
fn harmless(text: &str) -> String {
    let sign = |c: char| match c {
        '\n' | '\r' | '\t' => c,
        c if c.is_control() || is_invisible(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(sign).collect()
}

/// Returns whether nothing but flags is wrong.
pub(crate) fn only_in_flags(problems: &[Problem]) -> bool {
    let mut errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    errors.all(is_flag)
}

/// Returns whether a problem is in a flag, whose text then stands for the file.
fn is_flag(problem: &Problem) -> bool {
    let flags = ["--set ", "--zone ", "--net ", "--allow-host ", "--env ", "--pass-env "];
    flags.iter().any(|flag| problem.file.starts_with(flag))
}

fn group<'a>(problem: &'a Problem, path: &'a str, text: &'a str) -> Group<'a> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(problem.message.as_str()).id(problem.code);
    let mut group = Group::with_title(title);
    if let Some(span) = span(problem, text) {
        let annotation = AnnotationKind::Primary.span(span);
        let snippet = Snippet::source(text).path(path).fold(true);
        group = group.element(snippet.annotation(annotation));
    }
    if let Some(hint) = &problem.hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    group
}

/// Returns the bytes of a problem's place, cut to its line.
fn span(problem: &Problem, text: &str) -> Option<std::ops::Range<usize>> {
    let line_start = match problem.line {
        0 => return None,
        1 => 0,
        n => text.match_indices('\n').nth(n as usize - 2)?.0 + 1,
    };
    let line = text[line_start..].split('\n').next().unwrap_or_default().trim_end_matches('\r');
    let at =
        |column: usize| line.char_indices().nth(column).map_or(line.len(), |(offset, _)| offset);
    let first = problem.column.saturating_sub(1) as usize;
    let (start, end) = (at(first), at(first + problem.width.max(1) as usize));
    Some(line_start + start..line_start + end)
}

/// Returns the line that a problem is on.
pub(crate) fn line_of(problem: &Problem, text: &str) -> Option<String> {
    let index = problem.line.checked_sub(1)? as usize;
    let text = if is_flag(problem) { &problem.file } else { text };
    text.lines().nth(index).map(str::to_owned)
}
