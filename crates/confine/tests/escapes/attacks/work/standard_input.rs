//! Reads a file that is its standard input, to the end, and writes to standard
//! error.

use std::io::{Read, Write};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/standard_input",
    what: "reads its standard input",
    given: |scene| {
        let path = scene.dir().join("input.txt");
        fs::write(&path, line().repeat(10_000)).unwrap();
        let errors = fs::File::create(scene.dir().join("errors.txt")).unwrap();
        let input = fs::File::open(path).unwrap();
        Given { errors: Some(errors.into()), ..Given::input(input) }
    },
    attempt: |_| {
        let mut all = String::new();
        let read = io::stdin().read_to_string(&mut all).and_then(|_| {
            assert_eq!(all, line().repeat(10_000));
            io::stderr().write_all(all.as_bytes())
        });
        Outcome::ordinary("reading and writing", read)
    },
    check: |scene| {
        let errors = fs::read_to_string(scene.dir().join("errors.txt")).unwrap();
        match errors == line().repeat(10_000) {
            true => Ok(()),
            false => Err(format!("{} bytes arrived", errors.len())),
        }
    },
    ..BASE
};

fn line() -> String {
    "a line of the input\n".to_owned()
}
