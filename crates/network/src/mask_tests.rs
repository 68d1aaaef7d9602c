use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

const VALUE: &str = "sk-test/0123456789";

fn secret(value: &str) -> Secret {
    Secret::new("KEY", value.to_owned(), vec![], "Authorization").unwrap()
}

fn masked(value: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut mask = Mask::new([secret(value)].iter());
    let mut out = Vec::new();
    for part in parts {
        mask.push(part, &mut out);
    }
    mask.release(&mut out);
    assert_eq!(out.len(), parts.iter().map(|part| part.len()).sum::<usize>());
    out
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_placeholder_stands_where_the_value_was() {
    let answer = format!("HTTP/1.1 200 OK\r\nX-Echo: {VALUE}\r\n\r\n[{VALUE}{VALUE}]");
    let out = masked(VALUE, &[answer.as_bytes()]);
    let cover = "zonekeep-secret-ke";
    assert_eq!(text(&out), answer.replace(VALUE, cover));

    let long = "v".repeat(100);
    let out = masked(&long, &[format!("<{long}>").as_bytes()]);
    assert!(text(&out).starts_with("<zonekeep-secret-key-") && text(&out).ends_with("---->"));
}

#[test]
fn other_forms_of_the_value_are_found() {
    for form in [
        VALUE.replace('/', "\\/"),
        VALUE.replace('/', "%2F"),
        VALUE.replace('/', "%2f"),
        STANDARD.encode(VALUE),
        STANDARD.encode(format!("u:{VALUE}")),
        STANDARD.encode(format!("us:{VALUE}")),
        STANDARD.encode(format!("use:{VALUE}")),
    ] {
        let out = masked(VALUE, &[b"{\"a\": \"", form.as_bytes(), b"\"}"]);
        assert!(text(&out).contains("zonekeep-secret-"), "{form}: {}", text(&out));
        // What is left of it at the ends is not enough to find out anything.
        let left = STANDARD.decode(&form[..4]).is_ok_and(|start| VALUE.as_bytes() == start);
        assert!(!left && !text(&out).contains(&form[5..form.len() - 5]), "{form}: {}", text(&out));
    }
    assert_eq!(masked("short-7", &[b"a short-7 value"]), b"a short-7 value");
}

#[test]
fn a_value_is_covered_wherever_it_is_cut() {
    let answer = format!("sk-sk-test{VALUE}sk-");
    let want = answer.replace(VALUE, "zonekeep-secret-ke");
    for first in 0..=answer.len() {
        for second in first..=answer.len() {
            let bytes = answer.as_bytes();
            let out = masked(VALUE, &[&bytes[..first], &bytes[first..second], &bytes[second..]]);
            assert_eq!(text(&out), want, "{first} {second}");
        }
    }
    let single: Vec<&[u8]> = answer.as_bytes().chunks(1).collect();
    assert_eq!(text(&masked(VALUE, &single)), want);
}

#[test]
fn what_is_kept_back_does_not_depend_on_what_it_is() {
    // A guess that is right, one that is wrong, and something else.
    let answers = ["x\nsk-test/01234", "x\nsk-test/01235", "s\nmething else."];
    for size in 1..16 {
        let lengths = answers.map(|answer| {
            let mut mask = Mask::new([secret(VALUE)].iter());
            let given = answer.as_bytes().chunks(size).map(|part| {
                let mut out = Vec::new();
                mask.push(part, &mut out);
                out.len()
            });
            given.collect::<Vec<_>>()
        });
        assert!(lengths[0] == lengths[1] && lengths[0] == lengths[2], "{size}: {lengths:?}");
    }
}

#[test]
fn what_ends_a_line_is_not_kept_back() {
    for answer in ["data: sk-test/0123\n\n", "sk-test/012345678\r\n", "sk-test\n", "\0"] {
        let (mut mask, mut out) = (Mask::new([secret(VALUE)].iter()), Vec::new());
        mask.push(answer.as_bytes(), &mut out);
        assert_eq!((text(&out), mask.keeps()), (answer, false));
        mask.push(VALUE.as_bytes(), &mut out);
        mask.finish(&mut out);
        assert_eq!(text(&out), format!("{answer}zonekeep-secret-ke"));
    }
}

#[test]
fn what_belongs_to_something_else_does_not_go_on() {
    let (mut mask, mut out) = (Mask::new([secret(VALUE)].iter()), Vec::new());
    mask.push(&VALUE.as_bytes()[..9], &mut out);
    mask.finish(&mut out);
    mask.push(&VALUE.as_bytes()[9..], &mut out);
    mask.finish(&mut out);
    assert_eq!(text(&out), VALUE);
}

#[test]
fn a_value_that_goes_on_after_a_pause_is_covered_from_there() {
    let (mut mask, mut out) = (Mask::new([secret(VALUE)].iter()), Vec::new());
    mask.push(b"a: sk-test", &mut out);
    assert!(mask.keeps());
    mask.release(&mut out);
    assert!(!mask.keeps());
    assert_eq!(text(&out), "a: sk-test");
    mask.push(b"/0123456789, b", &mut out);
    mask.release(&mut out);
    assert_eq!(text(&out), "a: sk-testp-secret-ke, b");
}

#[test]
fn values_that_lie_over_each_other_are_covered_whole() {
    let out = masked("abcd-abcd", &[b"(abcd-abcd-abcd)"]);
    assert!(!text(&out).contains("abcd"), "{}", text(&out));
    let out = masked("abcd-abcd", &[b"(abcd-abcd", b")"]);
    assert_eq!(text(&out), "(zonekeep-)");

    // One value begins another.
    let both = [secret("prefix-12"), secret("prefix-12-longer")];
    for (parts, want) in [
        (&["prefix-12-longer"][..], "zonekeep-secret-"),
        (&["prefix-12", "-longer"], "zonekeep-secret-"),
        (&["prefix-12", "-other"], "zonekeep--other"),
        (&["prefix-12"], "zonekeep-"),
    ] {
        let (mut mask, mut out) = (Mask::new(both.iter()), Vec::new());
        for part in parts {
            mask.push(part.as_bytes(), &mut out);
        }
        mask.release(&mut out);
        assert_eq!(text(&out), want, "{parts:?}");
    }
}

proptest! {
    /// Whatever comes in whatever pieces, no value is left, and nothing else changes.
    #[test]
    fn no_value_is_left(
        words in prop::collection::vec("(sk-|test|/0|123|45678|9|sk-test/0123456789| )", 0..30),
        cuts in prop::collection::vec(0usize..300, 0..10),
    ) {
        let answer = words.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(answer.len())).collect();
        cuts.extend([0, answer.len()]);
        cuts.sort();
        let parts: Vec<&[u8]> =
            cuts.windows(2).map(|cut| &answer.as_bytes()[cut[0]..cut[1]]).collect();
        let out = masked(VALUE, &parts);
        let want = answer.replace(VALUE, "zonekeep-secret-ke");
        prop_assert_eq!(text(&out), want);
    }
}
