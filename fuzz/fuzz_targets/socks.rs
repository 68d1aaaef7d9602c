//! Whatever a client of the proxy says is read or refused, and the answer stays
//! the same when more comes.

#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use zonekeep_network::codec::Step;
use zonekeep_network::socks::{greeting, login, request};

fuzz_target!(|bytes: &[u8]| {
    stays(bytes, greeting);
    stays(bytes, login);
    if let Some(request) = stays(bytes, request) {
        assert!(!request.host.is_empty() && request.host.len() <= 255);
        assert!(request.host.bytes().all(|byte| byte.is_ascii_graphic()));
    }
});

fn stays<T: PartialEq + Debug>(bytes: &[u8], read: fn(&[u8]) -> Step<T>) -> Option<T> {
    let whole = read(bytes);
    for end in 0..bytes.len().min(300) {
        match (read(&bytes[..end]), &whole) {
            (Step::More, Step::Done(_, used)) => assert!(end < *used),
            (Step::More, _) => {}
            (settled, whole) => assert_eq!(&settled, whole),
        }
    }
    match whole {
        Step::Done(value, _) => Some(value),
        Step::More | Step::Bad(_) => None,
    }
}
