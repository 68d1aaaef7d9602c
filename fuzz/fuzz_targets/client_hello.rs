//! Whatever a client sends first is read or refused, and the answer stays the
//! same when more comes or when it comes in other pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zonekeep_network::codec::Step;
use zonekeep_network::hello::{Hello, again, parse, retried, starts};

fuzz_target!(|bytes: &[u8]| {
    let _ = (starts(bytes), retried(bytes), again(bytes));
    let whole = parse(bytes);
    match &whole {
        Step::Done(hello, used) => read(hello, &bytes[..*used]),
        Step::Bad(why) => assert!(!why.is_empty()),
        Step::More => {}
    }
    match parse(&bytes[..bytes.len() / 2]) {
        Step::More => {}
        settled => assert_eq!(settled, whole),
    }
});

fn read(hello: &Hello, bytes: &[u8]) {
    let same = Step::Done(hello.clone(), bytes.len());
    assert_eq!(starts(bytes), Some(true));
    assert_eq!(retried(bytes), Step::Done(false, 0));
    assert_eq!((parse(bytes), again(bytes)), (same.clone(), same));
    assert_eq!(parse(&bytes[..bytes.len() - 1]), Step::More);
    if let Some(name) = &hello.name {
        assert!(!name.is_empty() && name.len() <= 255);
        assert!(name.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    // The same message in one record.
    let mut message = Vec::new();
    let mut rest = bytes;
    while let [_, _, _, high, low, after @ ..] = rest {
        let (part, after) = after.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        message.extend(part);
        rest = after;
    }
    let length = (message.len() as u16).to_be_bytes();
    let joined = [&[22, 3, 1], &length[..], &message].concat();
    assert_eq!(parse(&joined), Step::Done(hello.clone(), joined.len()));
}
